// SPDX-License-Identifier: MIT
// Intrusive doubly linked lists. An element is on as many lists as it has Link bases; each base has a tag of its own.
// Linking and unlinking never allocate: that is what lets an unmount not fail half way.
#pragma once

#include <iterator>

namespace unmoor::tree {

template <typename Tag>
struct Link {
  Link() = default;
  Link(const Link&) = delete;
  Link& operator=(const Link&) = delete;

  [[nodiscard]] bool linked() const { return next != this; }
  void unlink() {
    prev->next = next;
    next->prev = prev;
    prev = next = this;
  }
  void insert_after(Link& where) {
    prev = &where;
    next = where.next;
    where.next->prev = this;
    where.next = this;
  }

  Link* prev = this;
  Link* next = this;
};

// The element that a Link is a base of.
template <typename T, typename Tag>
[[nodiscard]] T* element(Link<Tag>* link) {
  return static_cast<T*>(link);
}

template <typename T, typename Tag>
class List {
 public:
  class Iterator {
   public:
    explicit Iterator(Link<Tag>* at) : at_(at) {}
    T* operator*() const { return element<T>(at_); }
    Iterator& operator++() {
      at_ = at_->next;
      return *this;
    }
    friend bool operator==(Iterator, Iterator) = default;

   private:
    Link<Tag>* at_;
  };

  List() = default;
  List(const List&) = delete;
  List& operator=(const List&) = delete;

  [[nodiscard]] bool empty() const { return !head_.linked(); }
  [[nodiscard]] bool singular() const { return head_.linked() && head_.next == head_.prev; }
  [[nodiscard]] T* front() { return empty() ? nullptr : element<T>(head_.next); }
  [[nodiscard]] T* back() { return empty() ? nullptr : element<T>(head_.prev); }
  // The neighbours of an element that is on this list; nullptr past either end.
  [[nodiscard]] T* next(T* item) { return at(static_cast<Link<Tag>*>(item)->next); }
  [[nodiscard]] T* previous(T* item) { return at(static_cast<Link<Tag>*>(item)->prev); }

  void push_front(T* item) { static_cast<Link<Tag>*>(item)->insert_after(head_); }
  void push_back(T* item) { static_cast<Link<Tag>*>(item)->insert_after(*head_.prev); }
  void insert_after(T* where, T* item) { static_cast<Link<Tag>*>(item)->insert_after(*static_cast<Link<Tag>*>(where)); }
  static void remove(T* item) { static_cast<Link<Tag>*>(item)->unlink(); }
  [[nodiscard]] static bool contains(const T* item) { return static_cast<const Link<Tag>*>(item)->linked(); }
  T* pop_front() {
    T* const item = front();
    if (item != nullptr) remove(item);
    return item;
  }

  // Everything of `other`, in its order, goes behind `where` (an element of this list), or to the back.
  void splice_after(T* where, List& other) { splice(*static_cast<Link<Tag>*>(where), other); }
  void splice_back(List& other) { splice(*head_.prev, other); }

  // The element that is being looked at may be removed only through a copy of the iterator's successor.
  [[nodiscard]] Iterator begin() { return Iterator(head_.next); }
  [[nodiscard]] Iterator end() { return Iterator(&head_); }

 private:
  [[nodiscard]] T* at(Link<Tag>* link) { return link == &head_ ? nullptr : element<T>(link); }
  static void splice(Link<Tag>& where, List& other) {
    if (other.empty()) return;
    Link<Tag>* const first = other.head_.next;
    Link<Tag>* const last = other.head_.prev;
    other.head_.next = other.head_.prev = &other.head_;
    first->prev = &where;
    last->next = where.next;
    where.next->prev = last;
    where.next = first;
  }

  Link<Tag> head_;
};

}  // namespace unmoor::tree
