/** Quantities as numbers, to compare sizes. */

const powers: Readonly<Record<string, number>> = {
  m: 1e-3,
  k: 1e3,
  M: 1e6,
  G: 1e9,
  T: 1e12,
  P: 1e15,
  E: 1e18,
  Ki: 2 ** 10,
  Mi: 2 ** 20,
  Gi: 2 ** 30,
  Ti: 2 ** 40,
  Pi: 2 ** 50,
  Ei: 2 ** 60,
}

/** Zero, if it is none. */
export function quantityOf(text = '0'): number {
  const match = /^([+-]?[\d.]+(?:[eE][+-]?\d+)?)([A-Za-z]*)$/.exec(text)
  return Number(match?.[1] ?? 0) * (powers[match?.[2] ?? ''] ?? 1)
}
