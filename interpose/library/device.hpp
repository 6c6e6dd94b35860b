// SPDX-License-Identifier: BSD-3-Clause
//
// Memory of accelerators. A GPU-aware MPI takes addresses that the CPU must not touch; those calls
// are the library's.
#ifndef LACUNA_INTERPOSE_LIBRARY_DEVICE_HPP_
#define LACUNA_INTERPOSE_LIBRARY_DEVICE_HPP_

namespace lacuna {

// False only if the address is certainly the CPU's: no GPU runtime is loaded, or it says so.
bool may_be_on_device(const void* address) noexcept;

}  // namespace lacuna

#endif  // LACUNA_INTERPOSE_LIBRARY_DEVICE_HPP_
