# The tests of this folder, a row each (rows.cmake). Differences of MPI libraries are in quirks.txt.
set(LACUNA_MESSAGES 20000 CACHE STRING "Messages of the soak through shared memory, for each MPI")
set(LACUNA_PROGRAMS 60 CACHE STRING
  "Random programs for each MPI and 2 ranks; a fourth of it for 4, which share few cores")

# Each family, as it is.
lacuna_interpose_test(pack QUIET TOPICS @pack)
lacuna_interpose_test(p2p QUIET TOPICS @p2p)
lacuna_interpose_test(nonblocking QUIET TOPICS @nonblocking)
lacuna_interpose_test(errors QUIET TOPICS @errors)
lacuna_interpose_test(modes QUIET DEPTH REPETITION TOPICS @modes)
lacuna_interpose_test(matched QUIET DEPTH REPETITION TOPICS @matched)
lacuna_interpose_test(persistent QUIET DEPTH REPETITION TOPICS @persistent)
lacuna_interpose_test(exchange QUIET DEPTH REPETITION TOPICS @exchange)
lacuna_interpose_test(lifetime QUIET DEPTH REPETITION TOPICS @lifetime)
lacuna_interpose_test(large QUIET DEPTH REPETITION TOPICS @large)
lacuna_interpose_test(files QUIET DEPTH REPETITION TOPICS @files)
lacuna_interpose_test(rma QUIET DEPTH REPETITION TOPICS @rma)
lacuna_interpose_test(freed DEPTH REPETITION TOPICS @freed)

# Collectives, of two ranks and of four.
lacuna_interpose_test(collectives QUIET DEPTH VARIATION TOPICS @collectives)
lacuna_interpose_test(collectives QUIET RANKS 4 TOPICS @collectives)
lacuna_interpose_test(nonblocking_collectives QUIET DEPTH VARIATION TOPICS @nonblocking_collectives)
lacuna_interpose_test(nonblocking_collectives QUIET RANKS 4 DEPTH REPETITION TOPICS @nonblocking_collectives)
lacuna_interpose_test(persistent_collectives QUIET DEPTH VARIATION TOPICS @persistent_collectives)
lacuna_interpose_test(persistent_collectives QUIET RANKS 4 DEPTH REPETITION TOPICS @persistent_collectives)
lacuna_interpose_test(neighborhoods QUIET DEPTH VARIATION TOPICS @neighborhoods)
lacuna_interpose_test(neighborhoods QUIET RANKS 4 DEPTH REPETITION TOPICS @neighborhoods)
# Groups of two ranks: between groups of one, Intel MPI's MPI_Allgather deadlocks.
lacuna_interpose_test(collectives.groups RANKS 4 DEPTH REPETITION TOPICS collectives_between_groups)
# By the shipped table; each rank decides by itself.
lacuna_interpose_test(collectives.policy DEPTH VARIATION ENV LACUNA_ALWAYS=0 LACUNA_TABLE=
  TOPICS collectives_mixed_policy)

# One-sided. With more ranks than cores only some topics run: they are slow, as the targets must make progress.
lacuna_interpose_test(rma RANKS 4 DEPTH REPETITION TOPICS rma_one_by_one rma_odd_calls rma_windows)
lacuna_interpose_test(rma.threads DEPTH VARIATION
  WITH --threads TOPICS rma_threads rma_every_synchronization rma_one_by_one)
# By the rules for one-sided operations.
lacuna_interpose_test(rma.policy DEPTH VARIATION ENV LACUNA_ALWAYS=0 TOPICS rma_rules)

# Messages through shared memory: with large and small arenas, and with threads.
lacuna_interpose_test(direct ENV LACUNA_DIRECT=1
  TOPICS @matched @direct @watched @p2p @nonblocking @modes @persistent @exchange @lifetime @errors @large
    direct_ring direct_persistent direct_persistent_room direct_persistent_order direct_persistent_held
    direct_persistent_asked direct_persistent_fair direct_truncation_asked direct_truncation_by_library
    direct_testall_of_three @freed direct_probe_truncation direct_truncation_of_several direct_bad_communicator
    direct_truncation_after_free direct_sendrecv_truncated direct_failed_sends)
lacuna_interpose_test(direct.first RANKS 4 DEPTH VARIATION ENV LACUNA_DIRECT=1
  TOPICS direct_first_token direct_settled_tokens direct_many_held)
lacuna_interpose_test(direct.handlers DEPTH REPETITION ENV LACUNA_DIRECT=1 TOPICS errors_of_no_communicator)
# Each way to copy a payload (close, far, alternating), wherever the ranks are.
foreach(distance close far alternate)
  lacuna_interpose_test(direct.${distance} DEPTH VARIATION ENV LACUNA_DIRECT=1 LACUNA_DISTANCE=${distance}
    TOPICS @direct direct_ring direct_persistent p2p_same_messages p2p_large_messages nonblocking_many)
endforeach()
lacuna_interpose_test(direct.starved DEPTH VARIATION ENV LACUNA_DIRECT=1 LACUNA_ARENA_MB=1
  TOPICS @direct direct_persistent_room p2p_same_messages p2p_large_messages nonblocking_many)
lacuna_interpose_test(direct.threads DEPTH LOCKS ENV LACUNA_DIRECT=1
  WITH --threads
  TOPICS threads_multiple nonblocking_every_completion direct_probe direct_exchange freed_receive_of_threads
    direct_probe_among_threads direct_probers @handlers direct_receives_in_callbacks @callbacks rooms_among_threads
    rooms_met_by_two_threads threads_type_freed_in_send threads_type_freed_in_exchange threads_of_two_priorities)
# While the whole pool for packed data is in use.
lacuna_interpose_test(direct.pool DEPTH VARIATION ENV LACUNA_DIRECT=1 LACUNA_POOL_MB=1 TOPICS direct_small_pool)
lacuna_interpose_test(direct.pool_threads DEPTH VARIATION ENV LACUNA_DIRECT=1 LACUNA_POOL_MB=1
  WITH --threads TOPICS direct_small_pool)
# With a limit on the size of files, and standard input closed.
lacuna_interpose_test(direct.limits DEPTH VARIATION ENV LACUNA_DIRECT=1
  SHELL "ulimit -f 65536 && exec 0<&- && exec \"$0\" direct_unreadable direct_limits")
lacuna_interpose_test(direct.space DEPTH VARIATION ENV LACUNA_DIRECT=1
  SHELL "ulimit -v 2097152 && exec \"$0\" direct_space")
# With lacuna disabled in one rank.
lacuna_interpose_test(direct.refused DEPTH VARIATION ENV LACUNA_DIRECT=1
  SHELL "export LACUNA_DISABLE=\${PMI_RANK:-$OMPI_COMM_WORLD_RANK} && exec \"$0\" --perhaps direct_refused")
# Each rank in a PID namespace of its own.
lacuna_interpose_test(direct.namespaces DEPTH REPETITION TIMEOUT 60 ENV LACUNA_DIRECT=1
  THROUGH ${CMAKE_CURRENT_SOURCE_DIR}/start/own_namespace.sh TOPICS p2p_same_messages collectives_same_bytes)
lacuna_interpose_test(direct.log DEPTH VARIATION ENV LACUNA_DIRECT=1 LACUNA_LOG=1 TOPICS direct_matched
  PASS "lacuna.0.: vector.4096, 1, 3, double.: handled: through shared memory. 32768 bytes: packed by [a-z_]+[.a-z0-9_]*[^,]*, unpacked by ")
# The log of receives, which is written when it is known whether lacuna handled them.
lacuna_interpose_test(direct.log_of_receives DEPTH VARIATION ENV LACUNA_DIRECT=1 LACUNA_LOG=1 TOPICS direct_log
  PASS "lacuna.1.: contiguous.4096, double.: handled: through shared memory.*lacuna.1.: contiguous.100, double.: declined: it is contiguous"
  FAIL "contiguous.4096, double.: declined")
# LACUNA_MESSAGES of a million take a minute or two.
lacuna_interpose_test(soak PROGRAM interpose_soak_FAMILY DEPTH VARIATION TIMEOUT 1800
  ENV LACUNA_DIRECT=1 LACUNA_ARENA_MB=1 LACUNA_TEST_MESSAGES=${LACUNA_MESSAGES} TOPICS soak_direct)

# Pipelined messages, by TCP, as between nodes; threads have none. (Over TCP, many topics of errors end Intel MPI by
# itself.)
set(pipeline LACUNA_DIRECT=1 LACUNA_PIPELINE=all UCX_TLS=tcp,self OMPI_MCA_pml=ob1
  OMPI_MCA_btl=tcp,self)
lacuna_interpose_test(pipeline DEPTH VARIATION ENV ${pipeline}
  TOPICS @pipeline @matched @direct @watched @p2p @nonblocking @modes @persistent @exchange @lifetime @errors @large
    direct_persistent direct_persistent_order direct_truncation_asked direct_truncation_by_library
    direct_testall_of_three @freed direct_probe_truncation direct_truncation_of_several direct_sendrecv_truncated)
lacuna_interpose_test(pipeline.log_of_receives ON mpich intelmpi openmpi ENV ${pipeline} LACUNA_LOG=1 TOPICS direct_log
  PASS "lacuna.1.: contiguous.4096, double.: handled: pipelined between nodes"
  FAIL "through shared memory")
lacuna_interpose_test(pipeline RANKS 4 DEPTH VARIATION ENV ${pipeline}
  TOPICS pipeline_order pipeline_on_communicators pipeline_alltoallw pipeline_alltoall_on_communicators
    pipeline_neighbors pipeline_finalize direct_many_held @collectives @neighborhoods)
# On Open MPI, by its table, these types go in pieces in no other of these topics than the first.
lacuna_interpose_test(pipeline.policy ON mpich intelmpi debian-mpich ENV ${pipeline} LACUNA_ALWAYS=0
  TOPICS pipeline_order pipeline_window pipeline_on_communicators pipeline_stalled_sender pipeline_packed_collectives
    pipeline_finalize)
lacuna_interpose_test(pipeline.policy ON openmpi debian-openmpi ENV ${pipeline} LACUNA_ALWAYS=0 TOPICS pipeline_order)
lacuna_interpose_test(pipeline.pool DEPTH VARIATION ENV ${pipeline} LACUNA_POOL_MB=1
  TOPICS pipeline_lengths pipeline_order)
lacuna_interpose_test(pipeline.shares RANKS 4 DEPTH VARIATION ENV ${pipeline} LACUNA_PIPELINE_MB=1
  TOPICS @pipeline_shares pipeline_order pipeline_finalize)
lacuna_interpose_test(pipeline.random PROGRAM interpose_random_FAMILY RANKS 4 DEPTH VARIATION
  ENV ${pipeline} LACUNA_TEST_SEEDS=${LACUNA_PROGRAMS} LACUNA_TEST_FIRST=80000 TOPICS random_programs)
lacuna_interpose_test(pipeline.faults PROGRAM interpose_faults_FAMILY DEPTH VARIATION ENV ${pipeline}
  TOPICS faults_memory faults_memory_of_records faults_probes)
lacuna_interpose_test(pipeline.threads DEPTH VARIATION ENV ${pipeline} WITH --threads
  TOPICS threads_multiple nonblocking_every_completion)

# Collectives through shared memory.
lacuna_interpose_test(rooms ENV LACUNA_DIRECT=1 TOPICS @rooms @collectives)
lacuna_interpose_test(rooms RANKS 4 DEPTH VARIATION ENV LACUNA_DIRECT=1 TOPICS @rooms @collectives)
lacuna_interpose_test(rooms.far DEPTH VARIATION ENV LACUNA_DIRECT=1 LACUNA_DISTANCE=far LACUNA_READ_PEERS=0
  TOPICS @rooms @collectives)
lacuna_interpose_test(rooms.turns RANKS 4 DEPTH VARIATION ENV LACUNA_DIRECT=1 LACUNA_DISTANCE=turns
  TOPICS @rooms @collectives)
lacuna_interpose_test(rooms.reading DEPTH VARIATION ENV LACUNA_DIRECT=1 TOPICS rooms_reading)
lacuna_interpose_test(rooms.reading RANKS 4 DEPTH VARIATION ENV LACUNA_DIRECT=1 TOPICS rooms_reading_by_all)
lacuna_interpose_test(rooms.packed DEPTH VARIATION ENV LACUNA_DIRECT=1 LACUNA_READ_PEERS=0
  TOPICS rooms_alltoallw rooms_alltoall)
lacuna_interpose_test(rooms.starved DEPTH VARIATION ENV LACUNA_DIRECT=1 LACUNA_ARENA_MB=1
  TOPICS rooms_alltoallw rooms_communicators rooms_alltoall rooms_every_collective_starved rooms_each_for_itself)
lacuna_interpose_test(rooms.freed RANKS 3 ENV LACUNA_DIRECT=1 TOPICS rooms_freed_while_read)
# By the thresholds of rooms.
lacuna_interpose_test(rooms.policy DEPTH VARIATION ENV LACUNA_DIRECT=1 LACUNA_ALWAYS=0
  TOPICS rooms_small rooms_each_for_itself rooms_counts_grow)
# Long, and the same in all libraries.
lacuna_interpose_test(rooms.neighborhoods ON mpich openmpi RANKS 4 ENV LACUNA_DIRECT=1 TOPICS neighborhoods_in_graphs)

# Start and end: without lacuna in one rank; with fault tolerance (ULFM); with threads as ranks.
lacuna_interpose_test(start.alone DEPTH LOCKS TIMEOUT 60 ENV LACUNA_DIRECT=1 LACUNA_DIRECT_WAIT=1
  SHELL "[ \${PMI_RANK:-$OMPI_COMM_WORLD_RANK} != 1 ] || unset LD_PRELOAD && exec \"$0\" --perhaps start_alone")
lacuna_interpose_test(start.ulfm ON openmpi TIMEOUT 60 ENV LACUNA_DIRECT=1 OMPI_MCA_mpi_ft_enable=1
  WITH --perhaps TOPICS start_revoked)
lacuna_interpose_test(start.threads ON mpich TIMEOUT 60 ENV LACUNA_DIRECT=1 MPIR_CVAR_CH4_RESERVE_VCIS=1
  WITH --threads TOPICS start_threads_as_ranks start_streams)
# Children of fork, spawned jobs, sessions. Intel MPI cannot spawn over shared memory alone.
set(fabrics I_MPI_FABRICS=shm:ofi FI_PROVIDER=tcp)
lacuna_interpose_test(processes DEPTH REPETITION ENV ${fabrics} TOPICS @processes)
lacuna_interpose_test(processes.direct DEPTH VARIATION ENV ${fabrics} LACUNA_DIRECT=1 TOPICS @processes)
lacuna_interpose_test(sessions ON mpich intelmpi PROGRAM interpose_sessions_mpich)
# A session beside MPI_COMM_WORLD that ends after it; in the others it cannot.
lacuna_interpose_test(sessions.outlive ON mpich PROGRAM interpose_sessions_mpich ENV LACUNA_DIRECT=1 ARGS outlive)
# In these libraries, ranks synchronise in MPI_Finalize, and messages that arrive there are delivered.
foreach(direct 0 1)
  lacuna_interpose_test(finalize.${direct} ON openmpi debian-openmpi PROGRAM interpose_finalize_FAMILY TIMEOUT 60
    ENV LACUNA_DIRECT=${direct})
endforeach()
lacuna_interpose_test(late PROGRAM interpose_late_program DEPTH REPETITION
  ARGS $<TARGET_FILE:interpose_late_plugin_HEADERS>)
lacuna_interpose_test(handle ON mpich intelmpi PROGRAM interpose_handle_program ARGS libmpi.so.12)
lacuna_interpose_test(fortran ON debian-mpich debian-openmpi PROGRAM interpose_fortran_FAMILY
  ARGS fortran_completes_requests_of_c)

# A program whose own functions have names of POSIX.
lacuna_interpose_test(names ON mpich openmpi intelmpi PROGRAM interpose_names_FAMILY TIMEOUT 60 ENV LACUNA_DIRECT=1)

# Other tools in the process. With a tool after lacuna in one rank only, ranks do not agree on the direct path.
lacuna_interpose_test(tool_above PROGRAM interpose_tool_above_FAMILY DEPTH REPETITION TOPICS tool_above)
lacuna_interpose_test(tool_below PROGRAM interpose_tool_below_FAMILY DEPTH REPETITION TOPICS tool_below)
lacuna_interpose_test(tool_below_promises PROGRAM interpose_tool_below_FAMILY ENV LACUNA_DIRECT=1 TIMEOUT 60
  TOPICS tool_below_promises)
lacuna_interpose_test(ucc_rule PROGRAM interpose_ucc_rule_FAMILY RANKS 3 DEPTH REPETITION TOPICS ucc_rule)
lacuna_interpose_test(ucc_rule.direct PROGRAM interpose_ucc_rule_FAMILY RANKS 3 DEPTH VARIATION ENV LACUNA_DIRECT=1
  TOPICS ucc_rule)
lacuna_interpose_test(tool_on_first ENV LACUNA_DIRECT=1
  THROUGH ${CMAKE_CURRENT_SOURCE_DIR}/tools/tool_on_first.sh ${LACUNA_PRELOAD_FOLDER}/libinterpose_tool_FAMILY.so
  TOPICS collectives_same_bytes)
lacuna_interpose_test(bindings.0 PROGRAM interpose_bindings_FAMILY DEPTH REPETITION ENV LACUNA_DIRECT=0 TOPICS bindings)
lacuna_interpose_test(bindings.1 PROGRAM interpose_bindings_FAMILY DEPTH VARIATION ENV LACUNA_DIRECT=1 TOPICS bindings)

# New types. A report makes no difference.
lacuna_interpose_test(new_types DEPTH REPETITION ENV LACUNA_ALWAYS=0
  TOPICS new_types_small_messages new_types_large_and_persistent)
lacuna_interpose_test(new_types.reported ON mpich ENV LACUNA_ALWAYS=0 LACUNA_REPORT=1
  TOPICS new_types_small_messages new_types_large_and_persistent)
lacuna_interpose_test(structs DEPTH REPETITION
  TOPICS new_types_structs_to_the_library new_types_structs_to_oneself new_types_tight_structs_to_oneself)
lacuna_interpose_test(decode WITH --without
  TOPICS decode_every_combiner decode_predefined decode_f90 decode_shared_parts)

# How much memory lacuna keeps, and how much stack it uses; memory of a device.
lacuna_interpose_test(memory DEPTH VARIATION ENV LACUNA_DIRECT=1
  TOPICS memory_locked memory_not_dumped memory_of_large_regions)
lacuna_interpose_test(memory.locked DEPTH VARIATION ENV LACUNA_DIRECT=1 LACUNA_TEST_LOCK=1 TOPICS memory_locked)
lacuna_interpose_test(memory.packed DEPTH VARIATION ENV LACUNA_DIRECT=0
  TOPICS memory_of_large_buffers memory_of_long_lists)
lacuna_interpose_test(stack.0 DEPTH VARIATION ENV LACUNA_DIRECT=0 TOPICS stack_of_calls)
lacuna_interpose_test(stack.1 DEPTH VARIATION ENV LACUNA_DIRECT=1 TOPICS stack_of_calls)
lacuna_interpose_test(device DEPTH REPETITION ENV LACUNA_TEST_CUDA=$<TARGET_FILE:interpose_fake_cuda>
  TOPICS device_memory)

# Data in a device's memory, by a fake driver: packed there. The preload library is the one beside the fake mover.
set(in_device_folder "export LD_PRELOAD=${lacuna_fake_device}/\${LD_PRELOAD##*/} && exec \"$0\" \"$@\"")
set(fake_device LACUNA_TEST_CUDA=$<TARGET_FILE:interpose_fake_driver>
  LACUNA_TEST_MOVER=$<TARGET_FILE:interpose_fake_mover>)
foreach(direct 0 1)
  lacuna_interpose_test(device.moved.${direct} DEPTH VARIATION ENV ${fake_device} LACUNA_DIRECT=${direct}
    SHELL ${in_device_folder} TOPICS @device)
  # By the tables, which must not matter.
  lacuna_interpose_test(device.policy.${direct} DEPTH VARIATION ENV ${fake_device} LACUNA_DIRECT=${direct}
    LACUNA_ALWAYS=0 SHELL ${in_device_folder}
    TOPICS device_comes_late @device)
  lacuna_interpose_test(device.early.${direct} DEPTH VARIATION ENV ${fake_device} LACUNA_DIRECT=${direct}
    LACUNA_ALWAYS=0 LACUNA_TEST_EARLY=1 SHELL ${in_device_folder} TOPICS @device)
  lacuna_interpose_test(device.threads.${direct} DEPTH VARIATION ENV ${fake_device} LACUNA_DIRECT=${direct}
    SHELL ${in_device_folder} WITH --threads TOPICS @device)
endforeach()
# By the direct path: refused, full, little of it, on devices that fail.
lacuna_interpose_test(device.direct DEPTH VARIATION ENV ${fake_device} LACUNA_DIRECT=1 LACUNA_GPU_IPC=0 SHELL ${in_device_folder}
  TOPICS @device_direct device_direct_full device_direct_fails)
lacuna_interpose_test(device.direct_threads DEPTH VARIATION ENV ${fake_device} LACUNA_DIRECT=1 LACUNA_GPU_IPC=0
  SHELL ${in_device_folder} WITH --threads TOPICS @device_direct device_direct_full device_direct_fails)
lacuna_interpose_test(device.refused DEPTH VARIATION ENV ${fake_device} LACUNA_DIRECT=1 LACUNA_GPU_IPC=0 SHELL ${in_device_folder}
  TOPICS device_direct_refused)
lacuna_interpose_test(device.starved DEPTH VARIATION ENV ${fake_device} LACUNA_DIRECT=1 LACUNA_ARENA_MB=1
  SHELL ${in_device_folder} TOPICS @device @device_direct)
# Packed into memory of the device, by a library that is said to take its addresses.
foreach(direct 0 1)
  set(on_device ${fake_device} LACUNA_TEST_CUDA_IS_OPEN=1 LACUNA_GPU_STAGING=device LACUNA_DIRECT=${direct})
  lacuna_interpose_test(device.staging.${direct} DEPTH VARIATION ENV ${on_device} SHELL ${in_device_folder}
    TOPICS device_staging device_staging_restarts device_staging_refused device_staging_addresses)
  lacuna_interpose_test(device.staging.all.${direct} DEPTH VARIATION ENV ${on_device} SHELL ${in_device_folder}
    TOPICS @device)
endforeach()
lacuna_interpose_test(device.staging.ends DEPTH VARIATION ENV ${fake_device} LACUNA_TEST_CUDA_IS_OPEN=1
  LACUNA_GPU_STAGING=device LACUNA_DIRECT=0 SHELL ${in_device_folder} TOPICS device_staging_ends)
# Through device memory that ranks share.
foreach(topic device_windows device_windows_order device_windows_truncated device_windows_fail device_windows_reset
    device_windows_refused device_windows_gone device_windows_other_context device_windows_many_resets
    device_windows_descriptors)
  string(REPLACE _ . name ${topic})
  lacuna_interpose_test(${name} DEPTH VARIATION ENV ${fake_device} LACUNA_DIRECT=1 LACUNA_GPU_IPC=1
    SHELL ${in_device_folder} TOPICS ${topic})
endforeach()
foreach(ipc auto 1)
  lacuna_interpose_test(device.windows.${ipc}.one DEPTH VARIATION ENV ${fake_device} LACUNA_DIRECT=1
    LACUNA_GPU_IPC=${ipc} SHELL ${in_device_folder} TOPICS device_windows_of_one_device)
  lacuna_interpose_test(device.windows.${ipc}.two DEPTH VARIATION ENV ${fake_device} LACUNA_DIRECT=1
    LACUNA_GPU_IPC=${ipc} SHELL ${in_device_folder} TOPICS device_windows_of_two_devices)
  lacuna_interpose_test(device.windows.${ipc}.mps DEPTH VARIATION ENV ${fake_device} LACUNA_DIRECT=1
    LACUNA_GPU_IPC=${ipc} SHELL ${in_device_folder} TOPICS device_windows_with_mps)
endforeach()
lacuna_interpose_test(device.windows.all DEPTH VARIATION ENV ${fake_device} LACUNA_DIRECT=1 LACUNA_GPU_IPC=1
  SHELL ${in_device_folder} TOPICS @device @device_direct device_direct_full device_direct_fails)
lacuna_interpose_test(device.windows.threads DEPTH VARIATION ENV ${fake_device} LACUNA_DIRECT=1 LACUNA_GPU_IPC=1
  SHELL ${in_device_folder} WITH --threads TOPICS @device @device_direct)
# Collectives: packed, through shared memory of the host, and of the devices.
lacuna_interpose_test(device.collectives.0 RANKS 4 DEPTH VARIATION ENV ${fake_device} LACUNA_DIRECT=0
  SHELL ${in_device_folder} TOPICS device_collectives device_collectives_fused)
foreach(ipc 0 1)
  lacuna_interpose_test(device.collectives.1.${ipc} RANKS 4 DEPTH VARIATION ENV ${fake_device} LACUNA_DIRECT=1
    LACUNA_GPU_IPC=${ipc} SHELL ${in_device_folder} TOPICS device_collectives @device_rooms device_rooms_reset)
  lacuna_interpose_test(device.rooms.${ipc} DEPTH VARIATION ENV ${fake_device} LACUNA_DIRECT=1 LACUNA_GPU_IPC=${ipc}
    SHELL ${in_device_folder} TOPICS @device_rooms device_rooms_reset device_rooms_refused device_rooms_fails)
  lacuna_interpose_test(device.rooms_large.${ipc} DEPTH VARIATION ENV ${fake_device} LACUNA_DIRECT=1 LACUNA_GPU_IPC=${ipc}
    LACUNA_ARENA_MB=8 SHELL ${in_device_folder} TOPICS device_rooms_large device_rooms_gone)
endforeach()
lacuna_interpose_test(device.rooms_threads RANKS 4 DEPTH VARIATION ENV ${fake_device} LACUNA_DIRECT=1 LACUNA_GPU_IPC=1
  SHELL ${in_device_folder} WITH --threads TOPICS device_collectives @device_rooms)
lacuna_interpose_test(device.ends DEPTH VARIATION ENV ${fake_device} SHELL ${in_device_folder}
  TOPICS device_declined device_memory_again device_queries device_fails)
lacuna_interpose_test(device.off DEPTH VARIATION ENV ${fake_device} LACUNA_GPU=0 SHELL ${in_device_folder}
  WITH --without TOPICS device_left_alone)
lacuna_interpose_test(device.unpinned DEPTH VARIATION ENV ${fake_device} SHELL ${in_device_folder}
  WITH --perhaps TOPICS device_left_alone)
lacuna_interpose_test(device.log ON mpich ENV ${fake_device} LACUNA_LOG=1 SHELL ${in_device_folder}
  TOPICS device_packs PASS "double.: handled: packed and unpacked by the device that has the data")
lacuna_interpose_test(device.report ON mpich ENV ${fake_device} LACUNA_REPORT=1 SHELL ${in_device_folder}
  TOPICS device_packs PASS "lacuna:     packed and unpacked on a device: ")

# Topics with threads.
lacuna_interpose_test(threads DEPTH REPETITION
  WITH --threads
  TOPICS threads_multiple threads_last_messages nonblocking_every_completion lifetime_handles_are_reused
    nonblocking_collectives_at_once freed_receive_of_threads)

# The switches: everything off, one family off, little memory.
lacuna_interpose_test(switch DEPTH REPETITION TOPICS switch_pcontrol)
lacuna_interpose_test(switch.all ENV LACUNA_DISABLE=1 WITH --without TOPICS switch_disabled)
foreach(family pack p2p collectives files rma)
  string(TOUPPER ${family} disabled)
  lacuna_interpose_test(switch.${family} DEPTH VARIATION ENV LACUNA_DISABLE_${disabled}=1 TOPICS switch_families)
endforeach()
lacuna_interpose_test(switch.pool DEPTH VARIATION ENV LACUNA_POOL_MB=1 TOPICS switch_small_pool)

# Verification finds no difference. The log. A report does not follow links.
lacuna_interpose_test(verify ENV LACUNA_VERIFY=1 LACUNA_REPORT=1
  TOPICS pack_same_bytes p2p_same_messages p2p_short_messages p2p_sendrecv nonblocking_every_completion
    persistent_same_messages collectives_same_bytes rma_every_synchronization
  PASS "bytes.: 0 differences" FAIL "the library as" "[1-9][0-9]* failed")
lacuna_interpose_test(log DEPTH REPETITION ENV LACUNA_LOG=1 TOPICS switch_pcontrol
  PASS "lacuna.0.: vector.16, 1, 16, double.: handled. 128 bytes: 16 moves of 1 to 16 bytes")
lacuna_interpose_test(report.links ON mpich ENV LACUNA_REPORT=${CMAKE_CURRENT_BINARY_DIR}/links.json
  SHELL "\"$0\" report_beside_links && (test $PMI_RANK != 0 || (test \"$(cat $LACUNA_REPORT.victim)\" = kept && test ! -L $LACUNA_REPORT && test -s $LACUNA_REPORT))")

# Failing allocations, and a library that fails.
lacuna_interpose_test(faults PROGRAM interpose_faults_FAMILY DEPTH REPETITION
  TOPICS faults_memory faults_memory_of_records faults_library_refuses faults_no_leak)
lacuna_interpose_test(faults.direct PROGRAM interpose_faults_FAMILY DEPTH VARIATION ENV LACUNA_DIRECT=1
  TOPICS faults_memory faults_memory_of_records faults_probes faults_rooms faults_neighbors faults_rooms_refused)
lacuna_interpose_test(faults.access PROGRAM interpose_faults_FAMILY RANKS 4 DEPTH VARIATION TIMEOUT 120
  ENV LACUNA_DIRECT=1 TOPICS faults_no_access faults_rooms_no_access)
lacuna_interpose_test(faults.threads PROGRAM interpose_faults_FAMILY RANKS 4 DEPTH VARIATION ENV LACUNA_DIRECT=1
  WITH --threads TOPICS faults_rooms_of_threads faults_rooms faults_rooms_refused)
lacuna_interpose_test(faults.start PROGRAM interpose_faults_FAMILY DEPTH VARIATION TIMEOUT 60
  ENV LACUNA_DIRECT=1 LACUNA_TEST_REFUSED=1 WITH --perhaps TOPICS faults_at_start)

# Inside the library, whose own calls move all data: with a fragment or two for a message, and with many that end
# anywhere.
set(inside LACUNA_INSIDE=1 LACUNA_DISABLE_PACK=1 LACUNA_DISABLE_P2P=1 LACUNA_DISABLE_COLLECTIVES=1
  LACUNA_DISABLE_FILES=1 LACUNA_DISABLE_RMA=1)
set(fragments OMPI_MCA_btl=tcp,self OMPI_MCA_btl_tcp_eager_limit=1000 OMPI_MCA_btl_tcp_rndv_eager_limit=1000
  OMPI_MCA_btl_tcp_max_send_size=1531)
lacuna_interpose_test(inside ON openmpi debian-openmpi QUIET ENV ${inside} WITH --perhaps TOPICS @inside)
lacuna_interpose_test(inside.fragments ON openmpi debian-openmpi DEPTH REPETITION ENV ${inside} ${fragments}
  WITH --perhaps TOPICS @inside)
set(ucx OMPI_MCA_pml=ucx UCX_TLS=sysv,posix,self)
foreach(framework pml_ucx opal_common_ucx)
  list(APPEND ucx OMPI_MCA_${framework}_tls=any OMPI_MCA_${framework}_devices=any)
endforeach()
lacuna_interpose_test(inside.ucx ON openmpi debian-openmpi DEPTH REPETITION ENV ${inside} ${ucx}
  WITH --perhaps TOPICS @inside)
lacuna_interpose_test(inside.threads ON openmpi debian-openmpi ENV ${inside} WITH --perhaps --threads
  TOPICS inside_threads)
foreach(ranks 2 4)
  lacuna_interpose_test(inside.random PROGRAM interpose_random_FAMILY RANKS ${ranks} ON openmpi debian-openmpi
    DEPTH REPETITION ENV ${inside} LACUNA_TEST_SEEDS=${LACUNA_PROGRAMS} WITH --perhaps TOPICS random_programs)
  # Open MPI 5.0 itself is wrong there (docs/internals/defects.md).
  lacuna_interpose_test(inside.random_fragments PROGRAM interpose_random_FAMILY RANKS ${ranks} ON debian-openmpi
    DEPTH REPETITION ENV ${inside} ${fragments} LACUNA_TEST_SEEDS=${LACUNA_PROGRAMS} LACUNA_TEST_FIRST=${ranks}0000
    WITH --perhaps TOPICS random_programs)
endforeach()
# Beside all else that lacuna does.
lacuna_interpose_test(inside.too ON openmpi debian-openmpi DEPTH REPETITION ENV LACUNA_INSIDE=1 LACUNA_DIRECT=1
  TOPICS @p2p @nonblocking @persistent @lifetime @errors @rma)
# A library of another version, and one whose convertor is not as it is known.
foreach(what version convertor)
  set(tool ${LACUNA_PRELOAD_FOLDER}/libinterpose_other_${what}.so)
  lacuna_interpose_test(inside.other_${what} ON openmpi debian-openmpi ENV LACUNA_INSIDE=1 LACUNA_LOG=1
    SHELL "export LD_PRELOAD=$LD_PRELOAD:${tool} && exec \"$0\" --perhaps inside_off"
    PASS "lacuna.0.: inside: off: .*inside_off: [0-9]+ checks, 0 failed")
endforeach()

# Random programs.
math(EXPR fewer "${LACUNA_PROGRAMS} / 4")
lacuna_interpose_test(random PROGRAM interpose_random_FAMILY DEPTH REPETITION
  ENV LACUNA_TEST_SEEDS=${LACUNA_PROGRAMS} TOPICS random_programs)
lacuna_interpose_test(random PROGRAM interpose_random_FAMILY RANKS 4 DEPTH VARIATION
  ENV LACUNA_TEST_SEEDS=${fewer} LACUNA_TEST_FIRST=${LACUNA_PROGRAMS} TOPICS random_programs)
lacuna_interpose_test(random_threads PROGRAM interpose_random_FAMILY DEPTH VARIATION
  ENV LACUNA_TEST_SEEDS=${fewer} WITH --threads TOPICS random_programs_in_threads)
# Through shared memory, with large and with almost full arenas; other programs than those above.
foreach(ranks 2 4)
  math(EXPR seeds "${LACUNA_PROGRAMS} / 2 / ${ranks}")
  set(environment LACUNA_DIRECT=1 LACUNA_DISTANCE=alternate LACUNA_TEST_FIRST=${ranks}000 LACUNA_TEST_SEEDS=${seeds})
  lacuna_interpose_test(random.direct PROGRAM interpose_random_FAMILY RANKS ${ranks} DEPTH VARIATION
    ENV ${environment} TOPICS random_programs)
  lacuna_interpose_test(random.starved PROGRAM interpose_random_FAMILY RANKS ${ranks} DEPTH VARIATION
    ENV ${environment} LACUNA_ARENA_MB=1 TOPICS random_programs_starved)
endforeach()
lacuna_interpose_test(random_threads.direct PROGRAM interpose_random_FAMILY DEPTH VARIATION
  ENV LACUNA_DIRECT=1 LACUNA_ARENA_MB=1 LACUNA_TEST_SEEDS=${fewer}
  WITH --threads TOPICS random_programs_in_threads random_programs_starved)

if(LACUNA_SLOW_TESTS)  # 5 GiB of memory
  lacuna_interpose_test(large_message ON mpich intelmpi TIMEOUT 300 ENV LACUNA_POOL_MB=4096 TOPICS large_message)
endif()
