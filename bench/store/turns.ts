/** Runs both contenders in turn, so that other load of the machine affects both, and returns the
 *  medians of their times. */

import { type ChildProcess, fork } from 'node:child_process'
import { createHash } from 'node:crypto'
import { fileURLToPath } from 'node:url'
import { median } from '../bench.ts'
import type { OperationName, RoundResult } from './rounds.ts'

/** The times of one operation, ours and theirs, and how the two compare, as medians of rounds. */
export interface Timing {
  readonly oursNs: number
  readonly theirsNs: number
  /** Their time over ours. */
  readonly ratio: number
}

export interface Rounds {
  readonly timings: ReadonlyMap<OperationName, Timing>
  readonly hash: string
}

export interface TurnsOptions {
  readonly size: number
  readonly held: number
  readonly rounds: number
  readonly batches: number
}

export async function measureRounds(options: TurnsOptions): Promise<Rounds> {
  const contenders = [
    new RemoteContender('ours', options),
    new RemoteContender('theirs', options),
  ] as const
  const hash = createHash('sha256')
  const taken = new Map<OperationName, [ours: number[], theirs: number[]]>()
  try {
    for (let turn = 0; ; turn++) {
      const order = turn % 2 === 0 ? contenders : contenders.toReversed()
      const results = []
      for (const contender of order) results.push(await contender.next())
      const [ours, theirs] = turn % 2 === 0 ? results : results.toReversed()
      if (ours === undefined || theirs === undefined) break
      if (ours.answer !== theirs.answer) throw new Error(`${ours.name}: the trees disagree`)
      hash.update(`${ours.name} ${ours.answer}\n`)
      if (ours.isWarmUp) continue
      const times = taken.get(ours.name) ?? [[], []]
      taken.set(ours.name, times)
      times[0].push(ours.ns)
      times[1].push(theirs.ns)
    }
  } finally {
    for (const contender of contenders) contender.end()
  }
  const timings = [...taken].map(([name, [ours, theirs]]): [OperationName, Timing] => [
    name,
    {
      oursNs: median(ours),
      theirsNs: median(theirs),
      ratio: median(theirs.map((ns, i) => ns / ours[i]!)),
    },
  ])
  return { timings: new Map(timings), hash: hash.digest('hex').slice(0, 16) }
}

/** A contender in its own process. */
class RemoteContender {
  readonly #process: ChildProcess
  #resolve: (result: RoundResult | undefined) => void = () => {}
  #reject: (error: Error) => void = () => {}

  constructor(who: 'ours' | 'theirs', { size, held, rounds, batches }: TurnsOptions) {
    const file = fileURLToPath(new URL('./contender-child.js', import.meta.url))
    this.#process = fork(file, [who, size, held, rounds, batches].map(String))
    this.#process.on('message', (result: RoundResult | 'done') =>
      this.#resolve(result === 'done' ? undefined : result),
    )
    this.#process.on('exit', () => this.#reject(new Error(`${who} has ended too early`)))
  }

  /** Undefined when there are no more rounds. */
  next(): Promise<RoundResult | undefined> {
    return new Promise((resolve, reject) => {
      this.#resolve = resolve
      this.#reject = reject
      this.#process.send('next')
    })
  }

  end(): void {
    this.#process.disconnect()
  }
}
