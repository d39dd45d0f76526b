/** The stored form of the objects of a fresh cluster (lib/simulator/fresh/stored.json), made by
 *  writes of the API from objects.json, which says where they come from:
 *
 *      node dist/test/support/fresh/write-stored-file.js */

import type { Test } from 'tap'
import { readFileSync } from 'node:fs'
import { keyFromText, singleKey } from '../../../lib/base/keys.ts'
import {
  fileSeconds,
  fileUid,
  type StoredRow,
} from '../../../lib/simulator/fresh/stored-objects.ts'
import { minors, schemaOf } from '../../../lib/codec/schema/schema.ts'
import type { Resource } from '../../../lib/kube/resources/resource.ts'
import { ask, type Served, startServed } from '../http/served.ts'

interface NewObject {
  readonly apiVersion: string
  readonly kind: string
  readonly metadata: { readonly name: string; readonly namespace?: string }
  readonly spec?: { readonly priorityLevelConfiguration?: { readonly name: string } }
}

interface Row extends Pick<StoredRow, 'since' | 'until'> {
  readonly object: NewObject
}

const { rows } = JSON.parse(readFileSync('test/support/fresh/objects.json', 'utf8')) as {
  readonly rows: readonly Row[]
}

/** Fails where two minors store the same row differently: such a row is two. */
export async function storedRows(
  t: Pick<Test, 'teardown'>,
  {
    uid = fileUid,
    seconds = fileSeconds,
    of = minors(),
  }: { uid?: string; seconds?: number; of?: readonly string[] } = {},
): Promise<readonly StoredRow[]> {
  const made = new Map<Row, StoredRow>()
  for (const minor of of) {
    const served = await startServed(t as Test, {
      isWritable: true,
      schema: schemaOf(minor),
      generated: {
        uid: () => uid,
        nameSuffix: () => 'none',
        allocator: { address: () => '10.96.0.2', port: () => 30_000 },
      },
    })
    served.clock.stoppedAtMs = seconds * 1000
    await served.service.ready
    const number = Number(minor.split('.')[1])
    for (const row of rows) {
      const { since = number, until = number } = row
      if (number < since || number > until) continue
      const stored = await make(served, row.object, seconds)
      const known = made.get(row)
      if (known !== undefined && known.value !== stored.value) {
        throw new Error(`${stored.key} is stored differently by ${minor} than by minors before it`)
      }
      made.set(row, { since: row.since, until: row.until, ...stored })
    }
  }
  return rows.flatMap(row => made.get(row) ?? [])
}

/** One row a line. */
export function storedText(stored: readonly StoredRow[]): string {
  return `[\n${stored.map(row => JSON.stringify(row)).join(',\n')}\n]\n`
}

/** Makes an object as its maker in Kubernetes does. */
async function make(
  served: Served,
  object: NewObject,
  seconds: number,
): Promise<Pick<StoredRow, 'key' | 'value'>> {
  const { apiVersion, kind, metadata } = object
  const [version = '', group = ''] = apiVersion.split('/').toReversed()
  const { registry } = served.service.registry.state
  const resource = registry.resources.find(
    one => one.group === group && one.version === version && one.kind === kind,
  ) as Resource
  const { namespace, name } = metadata
  const root = group === '' ? '/api/v1' : `/apis/${apiVersion}`
  const path = `${root}${namespace === undefined ? '' : `/namespaces/${namespace}`}/${resource.resource}`
  await send(served, { method: 'POST', path, manager: managerOf(object), body: object })
  const told = statusOf(object)
  if (told !== undefined) {
    const { manager, condition } = told
    const conditions = [{ ...condition, lastTransitionTime: timeText(seconds) }]
    await send(served, {
      method: 'PATCH',
      path: `${path}/${name}/status?fieldManager=${manager}&force=true`,
      manager,
      body: { apiVersion, kind, metadata: { name }, status: { conditions } },
    })
  }
  const prefix = resource.storage?.prefix ?? ''
  const key = `${prefix}${namespace === undefined ? '' : `${namespace}/`}${name}`
  const { entries } = await served.client.range({ range: singleKey(keyFromText(key)) })
  const [entry] = entries
  if (entry === undefined) throw new Error(`${key} is not stored`)
  const value = Buffer.from(entry.bytes.slice(entry.start, entry.end)).toString('base64')
  return { key: key.replace('/registry/', ''), value }
}

interface Sent {
  readonly method: string
  readonly path: string
  readonly manager: string
  readonly body: object
}

async function send(served: Served, { method, path, manager, body }: Sent): Promise<void> {
  const type = method === 'PATCH' ? 'application/apply-patch+yaml' : 'application/json'
  const headers = { 'content-type': type, 'user-agent': `${manager}/v1` }
  const asked = { method, path, headers, body: JSON.stringify(body) }
  const answer = await ask(served.service.port, asked)
  if (answer.status >= 300) throw new Error(`${method} ${path}: ${answer.body.toString()}`)
}

const flows = 'api-priority-and-fairness-config-'

function managerOf({ apiVersion, kind }: NewObject): string {
  if (apiVersion.startsWith('flowcontrol.')) return `${flows}producer-v1`
  return kind === 'ServiceAccount' ? 'kube-controller-manager' : 'kube-apiserver'
}

function timeText(seconds: number): string {
  return `${new Date(seconds * 1000).toISOString().slice(0, 19)}Z`
}

/** The status that kube-apiserver's own controllers give an object; undefined for most. */
function statusOf({
  kind,
  spec,
}: NewObject): { readonly manager: string; readonly condition: object } | undefined {
  if (kind === 'ServiceCIDR') {
    const message = 'Kubernetes default Service CIDR is ready'
    return {
      manager: 'kubernetes-service-cidr-controller',
      condition: { type: 'Ready', status: 'True', message },
    }
  }
  if (kind !== 'FlowSchema') return undefined
  const level = spec?.priorityLevelConfiguration?.name ?? ''
  const message = `This FlowSchema references the PriorityLevelConfiguration object named "${level}" and it exists`
  return {
    manager: `${flows}consumer-v1`,
    condition: { type: 'Dangling', status: 'False', reason: 'Found', message },
  }
}
