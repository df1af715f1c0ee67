// SPDX-License-Identifier: MIT
#include "exec/shim/imports.h"

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <link.h>

namespace unmoor::exec::shim {
namespace {

#if defined(__aarch64__)
constexpr unsigned long kJumpSlot = R_AARCH64_JUMP_SLOT;
constexpr unsigned long kGlobalData = R_AARCH64_GLOB_DAT;
#else
constexpr unsigned long kJumpSlot = R_X86_64_JUMP_SLOT;
constexpr unsigned long kGlobalData = R_X86_64_GLOB_DAT;
#endif

struct Tables {
  const ElfW(Sym) * symbols = nullptr;
  const char* names = nullptr;
  const ElfW(Rela) * relocations = nullptr;
  std::size_t relocations_size = 0;
  const ElfW(Rela) * jumps = nullptr;
  std::size_t jumps_size = 0;
};

// glibc stores relocated addresses in the dynamic section, the vDSO does not: an address below the object's base is
// still an offset.
template <typename T>
const T* at(ElfW(Addr) base, ElfW(Addr) value) {
  return reinterpret_cast<const T*>(value < base ? base + value : value);
}

Tables tables_of(ElfW(Addr) base, const ElfW(Dyn) * dynamic) {
  Tables tables;
  for (; dynamic->d_tag != DT_NULL; ++dynamic) {
    if (dynamic->d_tag == DT_SYMTAB) tables.symbols = at<ElfW(Sym)>(base, dynamic->d_un.d_ptr);
    if (dynamic->d_tag == DT_STRTAB) tables.names = at<char>(base, dynamic->d_un.d_ptr);
    if (dynamic->d_tag == DT_RELA) tables.relocations = at<ElfW(Rela)>(base, dynamic->d_un.d_ptr);
    if (dynamic->d_tag == DT_RELASZ) tables.relocations_size = dynamic->d_un.d_val;
    if (dynamic->d_tag == DT_JMPREL) tables.jumps = at<ElfW(Rela)>(base, dynamic->d_un.d_ptr);
    if (dynamic->d_tag == DT_PLTRELSZ) tables.jumps_size = dynamic->d_un.d_val;
  }
  return tables;
}

bool names_umount(const Tables& tables, const ElfW(Rela) * first, std::size_t size) {
  for (std::size_t i = 0; i < size / sizeof *first; ++i) {
    const unsigned long type = ELF64_R_TYPE(first[i].r_info);
    if (type != kJumpSlot && type != kGlobalData) continue;
    const char* const name = tables.names + tables.symbols[ELF64_R_SYM(first[i].r_info)].st_name;
    if (name[0] == 'u' && std::strcmp(name, "umount2") == 0) return true;
  }
  return false;
}

int look(dl_phdr_info* info, std::size_t, void*) {
  const char* const slash = std::strrchr(info->dlpi_name, '/');
  const char* const name = slash != nullptr ? slash + 1 : info->dlpi_name;
  // libselinux unmounts nothing but its own filesystem, and every ls and cp is linked with it.
  constexpr const char* kKnown[] = {"libc.so", "ld-linux", "libselinux."};
  for (const char* known : kKnown)
    if (std::strncmp(name, known, std::strlen(known)) == 0) return 0;
  for (unsigned i = 0; i < info->dlpi_phnum; ++i) {
    if (info->dlpi_phdr[i].p_type != PT_DYNAMIC) continue;
    const Tables tables =
        tables_of(info->dlpi_addr, reinterpret_cast<const ElfW(Dyn)*>(info->dlpi_addr + info->dlpi_phdr[i].p_vaddr));
    if (tables.symbols == nullptr || tables.names == nullptr) return 0;
    return names_umount(tables, tables.jumps, tables.jumps_size) ||
                   names_umount(tables, tables.relocations, tables.relocations_size)
               ? 1
               : 0;
  }
  return 0;
}

}  // namespace

bool imports_umount() {
  return dl_iterate_phdr(look, nullptr) != 0;
}

}  // namespace unmoor::exec::shim
