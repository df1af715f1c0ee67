// SPDX-License-Identifier: MIT
// RFC v3: a lazy unmount does not wait at all. It leaks: a holder that saw the mount still in its namespace only counts
// down; if the umounter has dropped the tree's reference in between and seen the count above zero, nobody is left to
// release the mount (Jan Kara's trace, docs/from-the-mails.md). Kept so that the tests and the model can show it.
#include "tree/put.h"
#include "tree/release.h"

namespace unmoor::tree {
namespace {

class SkipWait : public Release {
 public:
  void release(Core& core, Unmounted& batch) override {
    if (batch.origin == Origin::kLazy) {
      release_now(core, batch.mounts);
    } else {
      release_after_grace_period(core, batch.mounts);
    }
  }
};

}  // namespace

std::unique_ptr<Release> make_skip_wait() {
  return std::make_unique<SkipWait>();
}

}  // namespace unmoor::tree
