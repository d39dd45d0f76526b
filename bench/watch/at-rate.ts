/** Calls `make` as often as a rate asks for, for so long, and says how often that was. Who falls
 *  behind makes up for it. */
export async function atRate(
  perSecond: number,
  ms: number,
  make: (index: number) => void,
): Promise<number> {
  const startMs = performance.now()
  let made = 0
  for (;;) {
    const passedMs = Math.min(performance.now() - startMs, ms)
    const due = Math.floor((passedMs / 1000) * perSecond)
    for (; made < due; made++) make(made)
    if (passedMs >= ms) return made
    await new Promise(resolve => {
      setTimeout(resolve, 1)
    })
  }
}
