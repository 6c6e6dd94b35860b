// SPDX-License-Identifier: BSD-3-Clause
//
// Records of a few small fields, packed 16 bytes at a time: the vectors of memory that hold those
// bytes are loaded, each one's bytes are shuffled to their places, with zero elsewhere, and the
// results are combined by OR and stored (tables of shuffles, record.hpp). Every instruction set has
// this shuffle; it serves where there are no permutes of 64 bytes, or not of bytes. Included once
// per SIMD target with vectors of known length.
//
// Reads whole vectors, as tables.inl.hpp does, but for the last records, which are moved field by
// field.
//
// Measured: docs/experiments/2026-11-26-short-runs-and-records.md. Tried: tables read from memory
// at each step, 2.3 to 3 times slower.

// Rows below this are not aligned first: moving up to a period of records one by one takes longer
// than unaligned vectors lose (docs/experiments/2026-11-26-kernel-choices.md).
constexpr int64_t kAlignedRow = 2048;

// How many of `count` elements to move one by one until `p`, which advances `step` bytes with each,
// is a multiple of `vector` bytes: a vector that crosses lines costs twice. 0 for short rows, or if
// `p` never is.
inline int64_t elements_to_vector(const std::byte* p, int64_t step, int64_t count, int64_t most,
                                  int64_t vector) {
  if (count * step < kAlignedRow) return 0;
  for (int64_t e = 0; e < most; ++e) {
    if (reinterpret_cast<uintptr_t>(p + e * step) % static_cast<uintptr_t>(vector) == 0) return e;
  }
  return 0;
}

// How many periods of `count` elements, `src_step` bytes apart, only load before `src_end`, the end
// of the data. Its divisions take as long as a short row.
inline int64_t whole_periods(const RecordTable& t, int64_t count, int64_t src_step,
                             int64_t src_end) {
  if (src_end < t.reach) return 0;
  const int64_t loaded = (src_end - t.reach) / (t.elements * src_step) + 1;
  return loaded < count / t.elements ? loaded : count / t.elements;
}

// The first `elements` of one row, field by field.
template <bool kScatter>
void first_elements(const KernelCall& m, int64_t elements, const std::byte* src, std::byte* dst) {
  KernelCall first = m;
  first.src = src;
  first.dst = dst;
  first.around.count = 1;
  first.outer.count = 1;
  first.inner.count = elements;
  few_records<kScatter>(first);
}

using ShuffleTag = hn::FixedTag<uint8_t, kShuffleBytes>;
using ShuffleVector = hn::Vec<ShuffleTag>;

[[gnu::always_inline]] inline ShuffleVector shuffled(const std::byte* from, ShuffleVector lanes) {
  return hn::TableLookupBytesOr0(hn::LoadU(ShuffleTag(), reinterpret_cast<const uint8_t*>(from)),
                                 lanes);
}

using ShuffleFn = void (*)(const RecordTable& table, int64_t period_src, int64_t periods,
                           const std::byte* src, std::byte* dst);

// A period of kVectors stores of kLoads loads each: its table stays in registers.
template <int kLoads, int kVectors>
void shuffle_periods(const RecordTable& table, int64_t period_src, int64_t periods,
                     const std::byte* src, std::byte* dst) {
  ShuffleVector lanes[kLoads * kVectors];
  int64_t load[kLoads * kVectors];
  for (int s = 0; s < kLoads * kVectors; ++s) {
    const TableStep& step = table.steps[static_cast<size_t>(s)];
    lanes[s] = hn::Load(ShuffleTag(), step.lanes);
    load[s] = step.load;
  }
  for (; periods > 0; --periods) {
#pragma GCC unroll 16
    for (int v = 0; v < kVectors; ++v) {
      const int at = v * kLoads;
      ShuffleVector made = shuffled(src + load[at], lanes[at]);
#pragma GCC unroll 4
      for (int i = 1; i < kLoads; ++i)
        made = hn::Or(made, shuffled(src + load[at + i], lanes[at + i]));
      hn::StoreU(made, ShuffleTag(), reinterpret_cast<uint8_t*>(dst) + v * kShuffleBytes);
    }
    src += period_src;
    dst += kVectors * kShuffleBytes;
  }
}

// For periods of any length: the table is read from memory.
inline void shuffle_periods_any(const RecordTable& table, int64_t period_src, int64_t periods,
                                const std::byte* src, std::byte* dst) {
  const TableStep* const end = table.steps.data() + table.steps.size();
  for (; periods > 0; --periods) {
    for (const TableStep* step = table.steps.data(); step != end;) {
      ShuffleVector made = hn::Zero(ShuffleTag());
      for (int64_t i = 0; i < table.steps_per_store; ++i, ++step)
        made = hn::Or(made, shuffled(src + step->load, hn::Load(ShuffleTag(), step->lanes)));
      hn::StoreU(made, ShuffleTag(), reinterpret_cast<uint8_t*>(dst));
      dst += kShuffleBytes;
    }
    src += period_src;
  }
}

inline ShuffleFn find_shuffles(const RecordTable& table) {
  constexpr int kMostVectors = 6;
  // Tables of up to 12 vectors fit into registers.
  static constexpr ShuffleFn kFns[kMostLoads][kMostVectors] = {
      {},
      {&shuffle_periods<2, 1>, &shuffle_periods<2, 2>, &shuffle_periods<2, 3>,
       &shuffle_periods<2, 4>, &shuffle_periods<2, 5>, &shuffle_periods<2, 6>},
      {&shuffle_periods<3, 1>, &shuffle_periods<3, 2>, &shuffle_periods<3, 3>,
       &shuffle_periods<3, 4>},
      {&shuffle_periods<4, 1>, &shuffle_periods<4, 2>, &shuffle_periods<4, 3>}};
  const int64_t vectors = static_cast<int64_t>(table.steps.size()) / table.steps_per_store;
  const ShuffleFn found =
      vectors <= kMostVectors ? kFns[table.steps_per_store - 1][vectors - 1] : nullptr;
  return found != nullptr ? found : &shuffle_periods_any;
}

inline void gather_shuffled(const KernelCall& m) noexcept {
  const Record& f = *m.record;
  const RecordTable& t = f.gather;
  if (m.inner.count < t.least) return few_records<false>(m);  // a slice
  const ShuffleFn shuffle = find_shuffles(t);
  const auto periods_of = [&](int64_t count) {
    return whole_periods(t, count, f.extent, (count - 1) * f.extent + f.span);
  };
  const int64_t in_row = periods_of(m.inner.count);
  each_row(m, [&](const std::byte* src, std::byte* dst) LACUNA_INLINE {
    int64_t count = m.inner.count;
    int64_t periods = in_row;
    if (const int64_t head = elements_to_vector(dst, f.size, count, t.elements, kShuffleBytes);
        head > 0) {
      first_elements<false>(m, head, src, dst);
      src += head * f.extent;
      dst += head * f.size;
      count -= head;
      periods = periods_of(count);
    }
    shuffle(t, t.elements * f.extent, periods, src, dst);
    const int64_t done = periods * t.elements;
    if (done < count)
      first_elements<false>(m, count - done, src + done * f.extent, dst + done * f.size);
  });
}
