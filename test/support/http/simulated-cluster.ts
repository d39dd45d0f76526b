/** A service on an embedded store with made-up controllers and nodes, in which waiting takes a
 *  fraction of the time. */

import type { Test } from 'tap'
import type { Clock } from '../../../lib/base/clock.ts'
import type { Logger } from '../../../lib/base/logger.ts'
import { createRandom } from '../../../lib/base/random.ts'
import { controllerNames } from '../../../lib/simulator/simulation/controller-names.ts'
import { stageOf } from '../../../lib/simulator/stages/stage.ts'
import { systemClock } from '../../../lib/cache/ops/system.ts'
import { patient } from '../patience.ts'
import { ask, startServed } from './served.ts'

/** Some answer of the API, read as what the test expects of it. */
export type ApiAnswer<T> = T & { readonly code: number }

export interface SimulatedCluster<T> {
  readonly port: number
  readonly send: (method: string, path: string, body?: object) => Promise<ApiAnswer<T>>
  /** Asks until the answer is as it should be; the test's own limit ends it. */
  readonly until: (path: string, isDone: (answer: ApiAnswer<T>) => boolean) => Promise<ApiAnswer<T>>
}

export interface SimulatedOptions {
  /** The time that waiting takes on a quiet machine: a fiftieth if it is left out. */
  readonly shortened?: (delayMs: number) => number
  /** A second of the cluster is so small a part of one, for clocks and waiting alike; `shortened`
   *  does not count then. */
  readonly speed?: number
  /** Nodes take only pods whose requests they have left. */
  readonly countsRequests?: boolean
  /** Stage objects. */
  readonly declared?: readonly unknown[]
  /** Rules of faults. */
  readonly faults?: readonly string[]
  readonly logger?: Logger
}

/** Between two looks at what a test waits for; and how many of these a look may be late. */
const pauseMs = 10
const pausesMax = 20

/** A clock that waits for less than it is told, and tells the time as it is. */
function shortTimers(shortened: (delayMs: number) => number): Clock {
  return {
    ...systemClock,
    // A busy machine has as much to do meanwhile: leases would end, and calls be too late.
    setTimer: (delayMs, task) =>
      systemClock.setTimer(Math.min(delayMs, patient(shortened(delayMs))), task),
  }
}

/** A clock that runs faster. */
function fastClock(speed: number): Clock {
  const [wallMs, monotonicMs] = [systemClock.wallMs(), systemClock.monotonicMs()]
  return {
    ...systemClock,
    wallMs: () => wallMs + (systemClock.wallMs() - wallMs) * speed,
    monotonicMs: () => monotonicMs + (systemClock.monotonicMs() - monotonicMs) * speed,
    setTimer: (delayMs, task) => systemClock.setTimer(delayMs / speed, task),
  }
}

/** It ends with the test. */
export async function startSimulatedCluster<T>(
  t: Test,
  {
    shortened = delayMs => delayMs / 50,
    speed,
    countsRequests = false,
    declared = [],
    faults = [],
    logger,
  }: SimulatedOptions = {},
): Promise<SimulatedCluster<T>> {
  const stages = declared.flatMap(object => stageOf(object) ?? [])
  const served = await startServed(t, {
    isWritable: true,
    ...(logger === undefined ? {} : { logger }),
    hasControllers: true,
    faults: { rules: faults, seed: 1 },
    basics: { rootAuthority: 'none' },
    simulation: {
      controllers: new Set(controllerNames),
      random: createRandom(1),
      stages,
      countsRequests,
    },
    clock: speed === undefined ? shortTimers(shortened) : fastClock(speed),
  })
  await served.service.ready
  async function send(method: string, path: string, body?: object): Promise<ApiAnswer<T>> {
    const headers = {
      'content-type': method === 'PATCH' ? 'application/merge-patch+json' : 'application/json',
    }
    const sent = body === undefined ? {} : { body: JSON.stringify(body) }
    const answer = await ask(served.service.port, { method, path, headers, ...sent })
    return { ...(JSON.parse(answer.body.toString()) as T), code: answer.status }
  }
  /** Until the store is at another revision. A few answers change without one: they are looked at
   *  now and then. */
  async function change(revision: number): Promise<void> {
    let pauses = 0
    do await new Promise(resolve => setTimeout(resolve, pauseMs))
    while (served.service.revision === revision && ++pauses < pausesMax)
  }
  async function until(
    path: string,
    isDone: (answer: ApiAnswer<T>) => boolean,
  ): Promise<ApiAnswer<T>> {
    for (;;) {
      const { revision } = served.service
      const answer = await send('GET', path)
      if (isDone(answer)) return answer
      await change(revision)
    }
  }
  return { port: served.service.port, send, until }
}
