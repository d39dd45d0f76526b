/** A client of etcd's API as Watchglass serves it, which reads and watches, and compares both with
 *  etcd. */

import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { setTimeout as pause } from 'node:timers/promises'
import type { CacheError } from '../../../../lib/base/errors.ts'
import { keyFromText, prefixRange, textFromKey } from '../../../../lib/base/keys.ts'
import { type Random, randomInt } from '../../../../lib/base/random.ts'
import { nextRevision, revision } from '../../../../lib/base/revision.ts'
import { GrpcClient } from '../../../../lib/etcd/grpc/client.ts'
import { authorityFile } from './certificates.ts'
import { configMaps } from './objects.ts'
import type { Outcomes } from './outcomes.ts'
import type { Truth } from './truth.ts'

export interface DoorOptions {
  /** `host:port`. */
  readonly address: string
  readonly truth: Truth
  readonly random: Random
  readonly outcomes: Outcomes
}

const range = prefixRange(keyFromText(configMaps.prefix))

/** Reads and watches for some seconds over a connection of its own. */
export async function visitDoor({ address, truth, random, outcomes }: DoorOptions): Promise<void> {
  const tls = { ca: readFileSync(authorityFile) }
  const client = new GrpcClient({ endpoints: [`https://${address}`], tls })
  try {
    const floor = truth.latest
    const { header, entries } = await client.range({ range })
    await truth.reach(header.revision)
    assert.ok(header.revision >= floor, `${header.revision} is older than ${floor}`)
    assert.deepEqual(
      entries.map(({ key, modRevision }) => `${textFromKey(key)} ${modRevision}`),
      truth
        .contents(configMaps.prefix, header.revision)
        .map(({ key, revision }) => `${key} ${revision}`),
    )
    await watchFor(client, truth, { from: header.revision, ms: randomInt(random, 2000, 40_000) })
    outcomes.count('door visited')
  } catch (error) {
    outcomes.failed('door', error)
  } finally {
    await client.close()
  }
}

async function watchFor(
  client: GrpcClient,
  truth: Truth,
  { from, ms }: { from: number; ms: number },
): Promise<void> {
  const told: string[] = []
  let position = from
  let failure: CacheError | undefined
  const startRevision = nextRevision(revision(from))
  const stream = client.watch(
    { range, startRevision },
    {
      created: () => undefined,
      changed: batches => {
        for (const batch of batches) {
          position = batch.revision
          for (const change of batch.changes) {
            const key = change.type === 'put' ? change.entry.key : change.key
            told.push(`${textFromKey(key)} ${batch.revision} ${change.type}`)
          }
        }
      },
      progress: header => (position = Math.max(position, header.revision)),
      ended: reason => (failure = reason),
    },
  )
  await pause(ms)
  stream.cancel()
  if (failure !== undefined) throw failure
  await truth.reach(position)
  const wanted = truth
    .changes(configMaps.prefix, from, position)
    .map(({ key, revision, object }) => `${key} ${revision} ${object ? 'put' : 'delete'}`)
  assert.deepEqual(told, wanted, `from ${from} to ${position}`)
}
