! SPDX-License-Identifier: BSD-3-Clause
!
! WRF, weather: how it packs and unpacks by hand the halo of four 2-d, three 3-d and two 4-d arrays (i, k, j, m), which stand
! one after the other in memory; the first of the fourth dimension is not sent. Both ways are wrf_way.inc's.
! The loops are compiled once for each level of instruction set, PREFIX telling the names apart.

#define ims bounds(1)
#define ime bounds(2)
#define jms bounds(3)
#define jme bounds(4)
#define kms bounds(5)
#define kme bounds(6)
#define is bounds(7)
#define ie bounds(8)
#define js bounds(9)
#define je bounds(10)
#define ks bounds(11)
#define ke bounds(12)

#define NAME pack_wrf(bounds, memory, buffer) bind(c, name=PREFIX//'pack_wrf')
#define MEMORY_IS in
#define BUFFER_IS inout
#define MOVE(there, here) here = there
#include "wrf_way.inc"
#undef NAME
#undef MEMORY_IS
#undef BUFFER_IS
#undef MOVE

#define NAME unpack_wrf(bounds, buffer, memory) bind(c, name=PREFIX//'unpack_wrf')
#define MEMORY_IS inout
#define BUFFER_IS in
#define MOVE(there, here) there = here
#include "wrf_way.inc"
