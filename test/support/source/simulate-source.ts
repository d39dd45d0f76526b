/** A run of the simulation: an API that misbehaves, from one seed. */

import { createRandom, randomInt } from '../../../lib/base/random.ts'
import { FakeClock } from '../fake-clock.ts'
import { CheckedMirror } from './checked-mirror.ts'
import { type ApiFaults, FakeApi } from './fake-api.ts'

export interface SourceRun {
  readonly problems: readonly string[]
  readonly events: number
  readonly resets: number
  readonly reads: CheckedMirror['reads']
  readonly requests: number
}

const calm: ApiFaults = { cut: 0, tooManyRequests: 0, lostBookmark: 0, stall: 0, errorEvent: 0 }

/** With a thread, its copies are read and checked; and it may be killed. */
export async function simulateSource(
  seed: number,
  steps: number,
  hasThread = false,
): Promise<SourceRun> {
  const random = createRandom(seed)
  const clock = new FakeClock()
  const api = new FakeApi({
    clock,
    random: createRandom(seed + 1),
    servers: randomInt(random, 1, 3),
  })
  for (let i = 0; i < 30; i++) api.write(`c${i}`, `first ${i}`)
  const mirror = new CheckedMirror(clock, api, hasThread)
  const reads: Promise<void>[] = []
  let written = 0
  /** A restored store may be written to before anybody notices. */
  const restore = (): void => {
    const before = api.revision
    mirror.restore(Math.max(api.compacted, before - randomInt(random, 0, 40)))
    const until = random.next() < 0.5 ? 0 : before + randomInt(random, 0, 5) - 2
    while (api.revision < until) {
      if (random.next() < 0.5) api.write(`c${randomInt(random, 0, 40)}`, `other ${written++}`)
      else api.writeOther()
    }
  }
  const act = (): void => {
    const chance = random.next() * 100
    const name = `c${randomInt(random, 0, 40)}`
    if (chance < 40) api.write(name, `value ${written++}`)
    else if (chance < 50) api.delete(name)
    else if (chance < 60) api.writeOther()
    else if (chance < 75) reads.push(mirror.read())
    else if (chance < 77) api.compact(api.revision - randomInt(random, 0, 30))
    else if (chance < 78) api.restart()
    else if (chance < 78.3) restore()
    else if (chance < 80) {
      for (const server of api.servers) {
        server.lagMs = [0, 0, 50, 3000][randomInt(random, 0, 3)] ?? 0
      }
    } else if (chance < 82) {
      const chanceOf = (): number => (random.next() < 0.5 ? 0 : random.next() * 0.2)
      api.faults = {
        cut: chanceOf(),
        tooManyRequests: chanceOf() / 4,
        lostBookmark: chanceOf() * 3,
        stall: chanceOf(),
        errorEvent: chanceOf(),
      }
    } else if (chance < 83) api.faults = calm
    else if (chance < 83.5) mirror.killThread()
  }
  for (let i = 0; i < steps; i++) {
    act()
    const isLong = random.next() < 0.02
    await clock.advance(isLong ? randomInt(random, 1000, 90_000) : randomInt(random, 0, 300))
  }
  api.faults = calm
  for (const server of api.servers) server.lagMs = 0
  await clock.advance(120_000)
  await Promise.all(reads)
  await clock.advance(70_000)
  mirror.settled()
  await mirror.stop()
  const { problems, events, resets } = mirror
  return { problems, events, resets, reads: mirror.reads, requests: api.requests.length }
}
