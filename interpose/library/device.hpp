// SPDX-License-Identifier: BSD-3-Clause
//
// Memory of accelerators. A GPU-aware MPI takes addresses that the CPU must not touch. Calls with
// such addresses are declined.
#ifndef LACUNA_INTERPOSE_LIBRARY_DEVICE_HPP_
#define LACUNA_INTERPOSE_LIBRARY_DEVICE_HPP_

namespace lacuna {

// False only if the address is host memory for certain: no GPU runtime is loaded, or CUDA says so.
bool may_be_on_device(const void* address) noexcept;

}  // namespace lacuna

#endif  // LACUNA_INTERPOSE_LIBRARY_DEVICE_HPP_
