/** Runs simulated worlds, one after the other, until so many events have happened. A failure names
 *  the seed of its world, with which that world alone is run again. */

import { profiles } from './faults.ts'
import { Stats } from './stats.ts'
import { World, type WorldOptions } from './world.ts'

export interface SimulationOptions {
  readonly events: number
  readonly seed: number
  readonly eventsOfWorld?: number | undefined
  readonly world?: Partial<WorldOptions> | undefined
  readonly onWorld?: ((events: number) => void) | undefined
}

export interface SimulationResult {
  readonly events: number
  readonly worlds: number
  readonly stats: Stats
}

/** A world in which a check did not hold, and how to see it again. */
export class WorldFailure extends Error {
  override readonly name = 'WorldFailure'
  readonly world: WorldOptions

  constructor(world: WorldOptions, cause: unknown, events: number) {
    const text = cause instanceof Error ? cause.message : String(cause)
    const threads = world.threads === undefined ? '' : ` --threads ${world.threads}`
    const replica = world.hasReplica === true ? ' --replica' : ''
    const own = world.hasOwnRevision === true ? ' --own' : ''
    const plain = world.isPlain === true ? ' --plain' : ''
    const replay = `npm run simulate -- --seed ${world.seed} --profile ${world.profile.name} --events ${world.events}${threads}${replica}${own}${plain}`
    super(`${text} (event ${events}; replay: ${replay})`, { cause })
    this.world = world
  }
}

/** Runs worlds with profile after profile. */
export async function simulate(options: SimulationOptions): Promise<SimulationResult> {
  const { seed, events, eventsOfWorld = 20_000, onWorld } = options
  const stats = new Stats()
  let done = 0
  let worlds = 0
  while (done < events) {
    const profile = profiles[worlds % profiles.length]!
    const world = {
      seed: seed + worlds,
      profile,
      events: Math.min(eventsOfWorld, events - done),
      ...options.world,
    }
    const ran = await runWorld(world)
    stats.add(ran.stats)
    done += ran.events
    worlds++
    onWorld?.(done)
  }
  return { events: done, worlds, stats }
}

/** Runs one world to its end. */
export async function runWorld(options: WorldOptions): Promise<World> {
  const world = new World(options)
  try {
    await world.run()
  } catch (error) {
    throw new WorldFailure(options, error, world.events)
  }
  return world
}
