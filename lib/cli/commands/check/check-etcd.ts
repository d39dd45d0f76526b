/** Asks each etcd for its version, reads below the prefix, and opens a watch, as the mirror
 *  would. */

import { randomUUID } from 'node:crypto'
import { CacheError, keyFromText, prefixRange } from '@watchglass/base'
import { etcdConnection } from '../plan/etcd-connection.ts'
import { type Client, type EtcdConnection, GrpcClient } from '@watchglass/etcd'
import type { OptionValues } from '../../options/option-values.ts'
import { judgeVersions } from '@watchglass/cache'
import type { CheckList, Finding } from './check-list.ts'
import { storePromises } from './promises/store-promises.ts'
import { TriedStore } from './promises/tried-store.ts'

export interface EtcdCheck {
  readonly prefix: string
  /** Promises are tried that need writes. */
  readonly mayWrite: boolean
  readonly signal: AbortSignal
}

export interface EtcdFindings {
  /** False if one of them answers nothing. */
  readonly isAnswering: boolean
  /** False if no namespaces lie below the prefix, as they do where an API server stores a
   *  cluster. */
  readonly hasNamespaces: boolean
}

export async function checkEtcd(
  list: CheckList,
  values: OptionValues,
  options: EtcdCheck,
): Promise<EtcdFindings> {
  let isAnswering = true
  let hasNamespaces = false
  const others = values.all('etcd-for').flatMap(text => text.split('=').slice(1).join('=') || [])
  for (const endpoints of [undefined, ...new Set(others)]) {
    const connection = connectionTo(values, endpoints)
    // What is wrong with the credentials was said with the files.
    if (connection === undefined) break
    const client = new GrpcClient(connection)
    try {
      if (await checkOne(list, client, { connection, ...options })) {
        hasNamespaces ||= await mayHoldNamespaces(client, options)
      } else isAnswering = false
    } finally {
      await client.close()
    }
  }
  return { isAnswering, hasNamespaces }
}

/** True also where etcd does not say, of which there is a line already. */
async function mayHoldNamespaces(client: Client, { prefix, signal }: EtcdCheck): Promise<boolean> {
  const range = prefixRange(keyFromText(`${prefix}/namespaces/`))
  const limit = AbortSignal.any([signal, AbortSignal.timeout(maxMs)])
  try {
    return (await client.range({ range, limit: 1, keysOnly: true }, limit)).entries.length > 0
  } catch {
    return true
  }
}

function connectionTo(
  values: OptionValues,
  endpoints: string | undefined,
): EtcdConnection | undefined {
  try {
    return endpoints === undefined ? etcdConnection(values) : etcdConnection(values, [endpoints])
  } catch {
    return undefined
  }
}

async function checkOne(
  list: CheckList,
  client: Client,
  { connection, prefix, mayWrite, signal }: EtcdCheck & { readonly connection: EtcdConnection },
): Promise<boolean> {
  const statuses = await client.status(AbortSignal.any([signal, AbortSignal.timeout(maxMs)]))
  const { endpoints } = judgeVersions(statuses)
  for (const [i, one] of endpoints.entries()) {
    await list.try(`etcd ${one.endpoint}`, () => {
      const status = statuses[i]
      if (status !== undefined && 'failure' in status) throw status.failure
      if (!one.isProgressSound) {
        return {
          warning: `${one.text}: progress notifications are wrong in this version, so consistent reads are slower; use 3.4.31, 3.5.13 or later`,
        }
      }
      if (!one.areQuorumReadsSound) {
        return {
          warning: `${one.text}: a read can be stale after a pause; use 3.4.42, 3.5.28, 3.6.9 or later`,
        }
      }
      return one.text ?? ''
    })
  }
  // Why is said by now.
  if (statuses.every(status => 'failure' in status)) return false
  const name = connection.endpoints.join(', ')
  const canRead = await list.try(`etcd ${name}: read ${prefix}/`, () =>
    countBelow(client, prefix, signal),
  )
  if (!canRead) return true
  await list.try(`etcd ${name}: watch ${prefix}/`, () => watchBelow(client, prefix))
  await checkPromises(list, { name, connection, prefix, mayWrite, signal })
  return true
}

interface PromisesCheck {
  readonly name: string
  readonly connection: EtcdConnection
  readonly prefix: string
  readonly mayWrite: boolean
  readonly signal: AbortSignal
}

/** Tries the promises of whatever speaks etcd's API; those that need writes if it may. */
async function checkPromises(
  list: CheckList,
  { name, connection, prefix, mayWrite, signal }: PromisesCheck,
): Promise<void> {
  const [first, ...others] = connection.endpoints.map(
    endpoint => new GrpcClient({ ...connection, endpoints: [endpoint] }),
  )
  if (first === undefined) return
  const folder = `/watchglass-check/${randomUUID()}/`
  const mirrored = prefixRange(keyFromText(`${prefix}/`))
  const clients = [first, ...others] as const
  const store = new TriedStore({ clients, folder, mirrored, stepMaxMs, signal })
  try {
    for (const { name: promise, needsWrites, otherwise, attempt } of storePromises) {
      if (needsWrites && !mayWrite) continue
      const task = (): Promise<string> => attempt(store)
      await list.tryPromise(`etcd ${name}: ${promise}`, otherwise, task)
    }
  } finally {
    if (mayWrite) await list.try(`etcd ${name}: ${folder} emptied`, async () => cleared(store))
    await Promise.all([first, ...others].map(client => client.close()))
  }
}

async function cleared(store: TriedStore): Promise<string> {
  await store.clear()
  return ''
}

const maxMs = 10_000
/** The time that a step of a promise may take. */
const stepMaxMs = 5_000

async function countBelow(client: Client, prefix: string, signal: AbortSignal): Promise<Finding> {
  const range = prefixRange(keyFromText(`${prefix}/`))
  const limit = AbortSignal.any([signal, AbortSignal.timeout(maxMs)])
  const { count, header } = await client.range({ range, limit: 1, keysOnly: true }, limit)
  if (count === 0) return { warning: 'no keys: is --prefix right?' }
  return `${count} keys at revision ${header.revision}`
}

/** Opens a watch, and asks for progress. */
function watchBelow(client: Client, prefix: string): Promise<Finding> {
  return new Promise((resolve, reject) => {
    const finish = (finding: Finding | CacheError): void => {
      clearTimeout(late)
      stream.cancel()
      if (finding instanceof CacheError) reject(finding)
      else resolve(finding)
    }
    let isCreated = false
    const stream = client.watch(
      { range: prefixRange(keyFromText(`${prefix}/`)), progressNotify: true },
      {
        created() {
          isCreated = true
          stream.requestProgress()
        },
        changed() {},
        progress: () => finish('opened, and progress is answered'),
        ended: finish,
      },
    )
    const late = setTimeout(
      () =>
        finish(
          isCreated
            ? { warning: 'progress requests are not answered: consistent reads will be slower' }
            : new CacheError('source_failed', 'etcd has not accepted a watch'),
        ),
      watchMaxMs,
    )
  })
}

const watchMaxMs = 5_000
