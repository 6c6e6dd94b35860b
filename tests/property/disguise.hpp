// SPDX-License-Identifier: BSD-3-Clause
//
// Disguises: types that mean the same and are built otherwise. Held against the normal form: equal
// typemaps and extents must give equal layouts.
#ifndef LACUNA_TESTS_PROPERTY_DISGUISE_HPP_
#define LACUNA_TESTS_PROPERTY_DISGUISE_HPP_

#include "property/case.hpp"
#include "type/type.hpp"

namespace lacuna::testing {

// The same tree with some constructors replaced by others of the same typemap, lb and extent: dup
// and one-element wrappers, vector by hvector or index lists, contiguous by vector or struct,
// subarray by nested hvectors in a resized, ...
TypePtr disguise(const TypePtr& type, Choices& choices);

}  // namespace lacuna::testing

#endif  // LACUNA_TESTS_PROPERTY_DISGUISE_HPP_
