/** Writes of the sample server: always as v1alpha1, whatever was sent. */

import { keyFromText, singleKey } from '../../../lib/base/keys.ts'
import type { Client } from '../../../lib/etcd/client.ts'
import { group, served, type Stored } from './wardle-objects.ts'
import { goText } from './wardle-table.ts'
import type { Target } from './wardle-target.ts'

export interface Written {
  readonly code: number
  readonly stored: Stored
  readonly revision: number
}

export async function write(
  client: Client,
  prefix: string,
  { target, body }: { readonly target: Target; readonly body: string },
): Promise<Written> {
  if (target.method === 'DELETE') return remove(client, prefix)
  const sent = JSON.parse(body) as Stored
  const name = target.name || String(sent.metadata['name'])
  const { namespace, kind } = target
  const metadata = {
    uid: `uid-of-${namespace}-${name}`,
    creationTimestamp: '2026-01-01T00:00:00Z',
    ...sent.metadata,
    name,
    ...(namespace === '' ? {} : { namespace }),
  }
  const given = { ...sent, kind, metadata, apiVersion: sent.apiVersion ?? `${group}/v1alpha1` }
  const shown = served(given, { version: 'v1alpha1', revision: 1 }) as Stored
  const { resourceVersion: _, ...kept } = shown.metadata
  const stored = { ...shown, metadata: kept }
  const key = keyFromText(target.name === '' ? `${prefix}${name}` : prefix)
  const value = Buffer.from(`${goText(stored)}\n`)
  const put = { type: 'put', key, value } as const
  const { header } = await client.txn({ compares: [], success: [put], failure: [] })
  return { code: target.method === 'POST' ? 201 : 200, stored, revision: header.revision }
}

async function remove(client: Client, name: string): Promise<Written> {
  const range = singleKey(keyFromText(name))
  const { entries } = await client.range({ range })
  const [entry] = entries
  if (entry === undefined) throw new Error(`${name} is not there`)
  const { header } = await client.txn({
    compares: [],
    success: [{ type: 'delete', range }],
    failure: [],
  })
  const text = Buffer.from(entry.bytes.subarray(entry.start, entry.end)).toString()
  return { code: 200, stored: JSON.parse(text) as Stored, revision: header.revision }
}
