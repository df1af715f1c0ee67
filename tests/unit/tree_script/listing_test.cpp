// SPDX-License-Identifier: MIT
#include "cli/tree/listing.h"

#include <gtest/gtest.h>

namespace unmoor::cli::tree {
namespace {

TEST(Listing, PrintsInTheOrderGivenAndNumbersGroupsByAppearance) {
  const Listing listing{{1, 1, "/", "/", "root", "rw,relatime", 90, 0, false},
                        {2, 1, "/a b", "/x", "fs", "ro", 70, 90, false},
                        {3, 1, "/c", "/", "fs", "rw", 0, 0, true}};
  EXPECT_EQ(print_listing(listing),
            "/ / root rw,relatime shared:1\n/a\\040b /x fs ro shared:2 master:1\n/c / fs rw unbindable\n");
}

TEST(Listing, CanonicalTextForgetsIdsAndOrderOfCreation) {
  const Listing one{{1, 0, "/", "/", "root", "rw", 0, 0, false},
                    {2, 1, "/a", "/", "A", "rw", 5, 0, false},
                    {3, 1, "/b", "/", "B", "rw", 6, 0, false}};
  const Listing two{{11, 7, "/", "/", "root", "rw", 0, 0, false},
                    {12, 11, "/b", "/", "B", "rw", 2, 0, false},
                    {13, 11, "/a", "/", "A", "rw", 9, 0, false}};
  EXPECT_EQ(canonical_text({one}), canonical_text({two}));
}

TEST(Listing, CanonicalTextTellsAStackFromSiblings) {
  Listing stack{{1, 0, "/", "/", "root", "rw", 0, 0, false},
                {2, 1, "/a", "/", "A", "rw", 0, 0, false},
                {3, 2, "/a", "/", "B", "rw", 0, 0, false}};
  Listing tucked = stack;
  tucked[2].parent = 1;
  EXPECT_NE(canonical_text({stack}), canonical_text({tucked}));
}

TEST(Listing, CanonicalTextSeesASharingAcrossNamespaces) {
  const Listing shared{{1, 0, "/", "/", "root", "rw", 4, 0, false}};
  const Listing other{{1, 0, "/", "/", "root", "rw", 5, 0, false}};
  EXPECT_NE(canonical_text({shared, shared}), canonical_text({shared, other}));
}

}  // namespace
}  // namespace unmoor::cli::tree
