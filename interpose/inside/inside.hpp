// SPDX-License-Identifier: BSD-3-Clause
//
// Whether lacuna moves data inside the MPI library: the fragments of messages that it does not
// handle as a whole.
#ifndef LACUNA_INTERPOSE_INSIDE_INSIDE_HPP_
#define LACUNA_INTERPOSE_INSIDE_INSIDE_HPP_

namespace lacuna::inside {

// In MPI_Init: whether the option asks for it and the running library is as expected. If not, the
// log says why.
bool start();

}  // namespace lacuna::inside

#endif  // LACUNA_INTERPOSE_INSIDE_INSIDE_HPP_
