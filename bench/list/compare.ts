/** Measures two servers with the same answers in turn, so that other load of the machine affects
 *  both. */

import { median } from '../bench.ts'
import type { RequestHeaders } from './http1-client.ts'
import type { LoadReport } from './load.ts'
import type { Load, Subject } from './processes.ts'

export type HttpVersion = '1.1' | '2'

/** The requests of a comparison. */
export interface Question {
  readonly paths: readonly string[]
  readonly headers: RequestHeaders
  readonly inFlight: number
}

export interface Contestant extends Question {
  readonly subject: Subject
}

export interface Pace {
  readonly rounds: number
  readonly roundMs: number
  /** Bound of requests in flight where no figure matters: each connection begins with a
   *  handshake. */
  readonly inFlightMax?: number
}

export interface Figures {
  readonly requestsPerSecond: number
  readonly bytesPerSecond: number
  /** Time of the processor that answers, for each request. */
  readonly cpuMs: number
}

export interface Comparison {
  /** Medians over the rounds. */
  readonly ours: Figures
  readonly theirs: Figures
  /** The median of the rounds' ratios of requests a second. */
  readonly ratio: number
}

export interface Match {
  readonly load: Load
  readonly version: HttpVersion
  readonly pace: Pace
}

/** Asks as often as a comparison does, before it counts. */
export async function warm(one: Contestant, match: Match): Promise<void> {
  for (let round = 0; round < match.pace.rounds; round++) await measure(one, match)
}

export async function compare(
  ours: Contestant,
  theirs: Contestant,
  match: Match,
): Promise<Comparison> {
  // Both are warm when it counts: code is compiled, indexes are built, what is kept is there.
  await measure(ours, match)
  await measure(theirs, match)
  const rounds: (readonly [Figures, Figures])[] = []
  for (let round = 0; round < match.pace.rounds; round++) {
    // Who comes first changes.
    if (round % 2 === 0) rounds.push([await measure(ours, match), await measure(theirs, match)])
    else {
      const second = await measure(theirs, match)
      rounds.push([await measure(ours, match), second])
    }
  }
  return {
    ours: medianOf(rounds.map(([figures]) => figures)),
    theirs: medianOf(rounds.map(([, figures]) => figures)),
    ratio: median(rounds.map(([a, b]) => a.requestsPerSecond / b.requestsPerSecond)),
  }
}

async function measure(
  { subject, paths, headers, inFlight: asked }: Contestant,
  { load, version, pace }: Match,
): Promise<Figures> {
  const target = { type: 'api' as const, port: subject.port, version }
  const inFlight = Math.min(asked, pace.inFlightMax ?? asked)
  const cpuBefore = await subject.cpuSeconds()
  const report = await load.run({ target, paths, headers, inFlight, ms: pace.roundMs })
  const cpuSeconds = (await subject.cpuSeconds()) - cpuBefore
  return figuresOf(report, cpuSeconds, inFlight)
}

/** Each connection's first request is not timed, but has cost its part of the processor. */
function figuresOf(
  { requests, bytes, seconds }: LoadReport,
  cpuSeconds: number,
  untimed: number,
): Figures {
  return {
    requestsPerSecond: requests / seconds,
    bytesPerSecond: bytes / seconds,
    cpuMs: (cpuSeconds * 1000) / (requests + untimed),
  }
}

function medianOf(figures: readonly Figures[]): Figures {
  return {
    requestsPerSecond: median(figures.map(({ requestsPerSecond }) => requestsPerSecond)),
    bytesPerSecond: median(figures.map(({ bytesPerSecond }) => bytesPerSecond)),
    cpuMs: median(figures.map(({ cpuMs }) => cpuMs)),
  }
}
