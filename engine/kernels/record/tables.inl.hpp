// SPDX-License-Identifier: BSD-3-Clause
//
// Records by tables (record.hpp). Packing loads the vectors that hold the data of one packed
// vector, permutes their lanes into place and stores it; unpacking loads packed bytes, permutes
// them to their places in a vector of memory and stores it under a mask. For AVX-512, which has the
// permutes and the masks; after shuffles.inl.hpp.
//
// Reads: lines between an element's first and last data byte all hold data (gaps are shorter than a
// line), so whole vectors may be loaded up to the last data byte of the last element; the last
// period is loaded under masks.
//
// Rows of fewer records than a table is for: record_passes.

// A vector of lanes of type T.
template <typename T>
struct TableLanes {
  using D = hn::CappedTag<T, 64 / sizeof(T)>;
  using V = hn::Vec<D>;
  static constexpr int64_t kBytes = 64;

  [[gnu::always_inline]] static V permuted(V v, const TableStep& step) {
    if constexpr (sizeof(T) == 4) {
      return hn::TableLookupLanes(v, hn::SetTableIndices(D(), lanes(step)));
    } else if constexpr (sizeof(T) == 2) {
      return V{_mm512_permutexvar_epi16(hn::Load(D(), lanes(step)).raw, v.raw)};
    } else {
      // VBMI is not part of this target: used only on CPUs that have it (table_lane in simd.cpp).
      V out;
      asm("vpermb %2, %1, %0" : "=v"(out.raw) : "v"(hn::Load(D(), lanes(step)).raw), "v"(v.raw));
      return out;
    }
  }
  // The lanes that the step fills.
  [[gnu::always_inline]] static hn::Mask<D> mine(const TableStep& step) {
    return hn::MaskFromVec(hn::Load(D(), lanes(step)));
  }
  [[gnu::always_inline]] static V load(const std::byte* p) {
    return hn::LoadU(D(), reinterpret_cast<const T*>(p));
  }
  [[gnu::always_inline]] static void store(V v, std::byte* p) {
    hn::StoreU(v, D(), reinterpret_cast<T*>(p));
  }
  [[gnu::always_inline]] static void store_mine(V v, hn::Mask<D> mask, std::byte* p) {
    hn::BlendedStore(v, mask, D(), reinterpret_cast<T*>(p));
  }
  // Lanes that begin before `bytes`.
  [[gnu::always_inline]] static hn::Mask<D> before(int64_t bytes) {
    const int64_t most = kBytes / static_cast<int64_t>(sizeof(T));
    const int64_t n = bytes <= 0 ? 0 : bytes / static_cast<int64_t>(sizeof(T));
    return hn::FirstN(D(), static_cast<size_t>(n < most ? n : most));
  }
  [[gnu::always_inline]] static V load_before(const std::byte* p, int64_t bytes) {
    return hn::MaskedLoad(before(bytes), D(), reinterpret_cast<const T*>(p));
  }

 private:
  static const T* lanes(const TableStep& step) { return reinterpret_cast<const T*>(step.lanes); }
};

template <typename L, int64_t kLoads>
void gather_periods(const Record& f, int64_t periods, const std::byte* src, std::byte* dst) {
  const RecordTable& table = f.gather;
  const int64_t period_src = table.elements * f.extent;
  const auto made = [&](const std::byte* from, const TableStep* step) {
    auto v = L::permuted(L::load(from + step[0].load), step[0]);
#pragma GCC unroll 4
    for (int64_t i = 1; i < kLoads; ++i)
      v = hn::IfThenElse(L::mine(step[i]), L::permuted(L::load(from + step[i].load), step[i]), v);
    return v;
  };
  const int64_t vectors = static_cast<int64_t>(table.steps.size()) / kLoads;
  if (vectors == 1) {
    // One field of 4, 8, ... bytes: a local copy of the table stays in registers, as no store can
    // change it.
    TableStep steps[kLoads];
    for (int64_t i = 0; i < kLoads; ++i) steps[i] = table.steps[static_cast<size_t>(i)];
    for (int64_t p = 0; p < periods; ++p) {
      L::store(made(src, steps), dst);
      src += period_src;
      dst += L::kBytes;
    }
    return;
  }
  for (int64_t p = 0; p < periods; ++p) {
    const TableStep* step = table.steps.data();
    for (int64_t v = 0; v < vectors; ++v) {
      L::store(made(src, step), dst);
      step += kLoads;
      dst += L::kBytes;
    }
    src += period_src;
  }
}

// The last, partial period: `elements` elements, under masks.
template <typename L>
void gather_rest(const Record& f, int64_t elements, const std::byte* src, std::byte* dst) {
  const int64_t src_end = (elements - 1) * f.extent + f.span;
  const int64_t dst_end = elements * f.size;
  const size_t loads = static_cast<size_t>(f.gather.steps_per_store);
  for (size_t s = 0; s < f.gather.steps.size(); s += loads) {
    const TableStep* step = f.gather.steps.data() + s;
    if (step->store >= dst_end) return;
    auto made = hn::Zero(typename L::D());
    for (size_t i = 0; i < loads; ++i) {
      const auto found = L::load_before(src + step[i].load, src_end - step[i].load);
      made = hn::IfThenElse(L::mine(step[i]), L::permuted(found, step[i]), made);
    }
    L::store_mine(made, L::before(dst_end - step->store), dst + step->store);
  }
}

template <bool kScatter>
void move_elements(const Permutes& moves, int64_t elements, const std::byte* src, std::byte* dst) {
  if constexpr (kScatter) {
    moves.unpack(*moves.element, dst, elements, const_cast<std::byte*>(src));
  } else {
    moves.pack(*moves.element, const_cast<std::byte*>(src), elements, dst);
  }
}

// Element by element. These prefetch by themselves.
template <bool kScatter>
void record_permutes(const KernelCall& m) noexcept {
  const Permutes& moves = m.record->permutes;
  each_row(m, [&](const std::byte* src, std::byte* dst)
                  LACUNA_INLINE { move_elements<kScatter>(moves, m.inner.count, src, dst); });
}

// Elements of a row before the first period. Those after the last one stay with the tables' masks:
// one by one they are slower (docs/experiments/2026-11-26-short-runs-and-records.md).
template <bool kScatter>
void head_elements(const KernelCall& m, int64_t elements, const std::byte* src, std::byte* dst) {
  const Permutes& moves = m.record->permutes;
  if (moves.pack == nullptr) return first_elements<kScatter>(m, elements, src, dst);
  move_elements<kScatter>(moves, elements, src, dst);
}

template <typename L>
void gather_table(const KernelCall& m) noexcept {
  const Record& f = *m.record;
  const RecordTable& t = f.gather;
  if (m.inner.count < t.least) return few_records<false>(m);  // a slice
  const auto periods_of = [&](int64_t count) {
    return whole_periods(t, count, f.extent, (count - 1) * f.extent + f.span);
  };
  const int64_t in_row = periods_of(m.inner.count);
  each_row(m, [&](const std::byte* src, std::byte* dst) LACUNA_INLINE {
    int64_t count = m.inner.count;
    int64_t periods = in_row;
    if (const int64_t head = elements_to_vector(dst, f.size, count, t.elements, L::kBytes);
        head > 0) {
      head_elements<false>(m, head, src, dst);
      src += head * f.extent;
      dst += head * f.size;
      count -= head;
      periods = periods_of(count);
    }
    switch (t.steps_per_store) {
      case 1:
        gather_periods<L, 1>(f, periods, src, dst);
        break;
      case 2:
        gather_periods<L, 2>(f, periods, src, dst);
        break;
      case 3:
        gather_periods<L, 3>(f, periods, src, dst);
        break;
      default:
        gather_periods<L, kMostLoads>(f, periods, src, dst);
    }
    for (int64_t e = periods * t.elements; e < count; e += t.elements) {
      const int64_t rest = count - e;
      gather_rest<L>(f, rest < t.elements ? rest : t.elements, src + e * f.extent,
                     dst + e * f.size);
    }
  });
}

// Prefetch distance in bytes, for CPUs whose prefetcher does not follow masked stores
// (RecordTable::prefetches; docs/experiments/2026-11-26-cpu-habits.md).
constexpr int64_t kStoredAhead = 1024;

template <typename L>
[[gnu::always_inline]] inline void scatter_step(const TableStep& step, bool prefetches,
                                                const std::byte* src, std::byte* dst) {
  if (prefetches) __builtin_prefetch(dst + step.store + kStoredAhead, 1, 3);
  L::store_mine(L::permuted(L::load(src + step.load), step), L::mine(step), dst + step.store);
}

template <typename L, size_t kSteps>
void scatter_periods(const Record& f, int64_t periods, const std::byte* src, std::byte* dst) {
  const RecordTable& t = f.scatter;
  const bool prefetches = t.prefetches;
  TableStep copies[kSteps];  // in registers, as in gather_periods
  for (size_t s = 0; s < kSteps; ++s) copies[s] = t.steps[s];
  for (int64_t p = 0; p < periods; ++p) {
#pragma GCC unroll 8
    for (const TableStep& step : copies) scatter_step<L>(step, prefetches, src, dst);
    src += t.elements * f.size;
    dst += t.elements * f.extent;
  }
}

template <typename L>
void scatter_periods_any(const Record& f, int64_t periods, const std::byte* src, std::byte* dst) {
  const RecordTable& t = f.scatter;
  const bool prefetches = t.prefetches;
  for (int64_t p = 0; p < periods; ++p) {
    for (const TableStep& step : t.steps) scatter_step<L>(step, prefetches, src, dst);
    src += t.elements * f.size;
    dst += t.elements * f.extent;
  }
}

// The last, partial period: `elements` elements, under masks.
template <typename L>
void scatter_rest(const Record& f, int64_t elements, const std::byte* src, std::byte* dst) {
  const int64_t src_end = elements * f.size;
  const int64_t dst_end = (elements - 1) * f.extent + f.span;
  for (const TableStep& step : f.scatter.steps) {
    if (step.load >= src_end) return;
    const auto found = L::load_before(src + step.load, src_end - step.load);
    L::store_mine(L::permuted(found, step), hn::And(L::mine(step), L::before(dst_end - step.store)),
                  dst + step.store);
  }
}

template <typename L>
void scatter_table(const KernelCall& m) noexcept {
  const Record& f = *m.record;
  const RecordTable& t = f.scatter;
  if (m.inner.count < t.least) return few_records<true>(m);  // a slice
  const int64_t in_row = whole_periods(t, m.inner.count, f.size, m.inner.count * f.size);
  each_row(m, [&](const std::byte* src, std::byte* dst) LACUNA_INLINE {
    int64_t count = m.inner.count;
    int64_t periods = in_row;
    if (const int64_t head = elements_to_vector(dst, f.extent, count, t.elements, L::kBytes);
        head > 0) {
      head_elements<true>(m, head, src, dst);
      src += head * f.size;
      dst += head * f.extent;
      count -= head;
      periods = whole_periods(t, count, f.size, count * f.size);
    }
    switch (t.steps.size()) {
      case 1:
        scatter_periods<L, 1>(f, periods, src, dst);
        break;
      case 2:
        scatter_periods<L, 2>(f, periods, src, dst);
        break;
      case 3:
        scatter_periods<L, 3>(f, periods, src, dst);
        break;
      case 4:
        scatter_periods<L, 4>(f, periods, src, dst);
        break;
      case 5:
        scatter_periods<L, 5>(f, periods, src, dst);
        break;
      case 6:
        scatter_periods<L, 6>(f, periods, src, dst);
        break;
      default:
        scatter_periods_any<L>(f, periods, src, dst);
    }
    for (int64_t e = periods * t.elements; e < count; e += t.elements) {
      const int64_t rest = count - e;
      scatter_rest<L>(f, rest < t.elements ? rest : t.elements, src + e * f.size,
                      dst + e * f.extent);
    }
  });
}
