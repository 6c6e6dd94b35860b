/* SPDX-License-Identifier: BSD-3-Clause
 *
 * MPI_Waitany and kin where EARLY persistent sends are over as soon as they are started, without the
 * library's request (interpose/requests/many.cpp), and the library has requests of its own, of
 * which some are complete in any call. What a call gives is started again at once. In each of CALLS
 * calls nothing that is complete waits for more than so many others as are reasonable. */

#define ALL (EARLY + 1) /* the last one stands for the library's */
#define LIBRARY EARLY

byte since[ALL];      /* when it was started, in starts */
bool passed[ALL];     /* over, by one of the library's */
byte waits[ALL];      /* calls that have given others meanwhile */
byte starts, calls;
bool has;             /* the library, in this call */

init {
  byte i, oldest, given;
  atomic {
    i = 0;
    do
    :: i < EARLY -> starts++; since[i] = starts; i++
    :: else -> break
    od
  };
  do
  :: calls < CALLS ->
    atomic {
      if
      :: has = true
      :: has = false
      fi;
      oldest = 0;
      i = 1;
      do
#ifndef BREAK_FIRST_EARLY
      :: i < EARLY -> if :: since[i] < since[oldest] -> oldest = i :: else fi; i++
#endif
      :: else -> break
      od;
      if
#ifdef BREAK_EARLY_FIRST
      :: true -> given = oldest
#else
#ifndef BREAK_LIBRARY_FIRST
      :: passed[oldest] -> given = oldest
#endif
      :: else -> if :: has -> given = LIBRARY; passed[oldest] = true :: else -> given = oldest fi
#endif
      fi;
      i = 0;
      do
      :: i < ALL ->
        if
        :: i == given -> waits[i] = 0
        :: i == LIBRARY && !has -> waits[i] = 0
        :: else -> waits[i]++
        fi;
        assert(waits[i] <= 2 * EARLY);
        i++
      :: else -> break
      od;
      assert(waits[LIBRARY] <= 1);
      if
      :: given < EARLY -> starts++; since[given] = starts; passed[given] = false
      :: else
      fi;
      calls++
    }
  :: else -> break
  od
}
