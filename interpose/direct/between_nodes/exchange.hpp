// SPDX-License-Identifier: BSD-3-Clause
//
// One collective call between nodes, in pieces. Each is on its way while the next one is packed,
// and is unpacked while the next one comes.
#ifndef LACUNA_INTERPOSE_DIRECT_BETWEEN_NODES_EXCHANGE_HPP_
#define LACUNA_INTERPOSE_DIRECT_BETWEEN_NODES_EXCHANGE_HPP_

#include "interpose/direct/between_nodes/communicator.hpp"

namespace lacuna::direct {

// Call if must_vote(). `willing`: this rank has described the data of all members. False: a rank
// voted no, or nobody gains, and nothing has happened in any rank. True: the call is done;
// `error_class` is its result.
bool exchange_between_nodes(MPI_Comm comm, NodesComm* nodes, const Call& call, bool willing,
                            int* error_class) noexcept;

}  // namespace lacuna::direct

#endif  // LACUNA_INTERPOSE_DIRECT_BETWEEN_NODES_EXCHANGE_HPP_
