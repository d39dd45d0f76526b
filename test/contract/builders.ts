/** The means of contract suites: a test gets a client, and keys under a prefix of its own. */

import type { Test } from 'tap'
import { CacheError, type ErrorCode } from '../../lib/base/errors.ts'
import {
  type Key,
  type KeyRange,
  keyFromText,
  prefixRange,
  textFromKey,
} from '../../lib/base/keys.ts'
import type { Revision } from '../../lib/base/revision.ts'
import type { Client, Operation, RangeResponse } from '../../lib/etcd/client.ts'

/** Defines one test of a suite. */
export type Define = (name: string, run: (t: Test, client: Client) => Promise<void>) => void

export function under(prefix: string): KeyRange {
  return prefixRange(keyFromText(prefix))
}

export function names({ entries }: RangeResponse): string[] {
  return entries.map(({ key }) => textFromKey(key))
}

export function always(...success: Operation[]): Parameters<Client['txn']>[0] {
  return { compares: [], success, failure: [] }
}

export async function put(client: Client, name: string, value: string): Promise<Revision> {
  const key: Key = keyFromText(name)
  const { header } = await client.txn(always({ type: 'put', key, value: Buffer.from(value) }))
  return header.revision
}

export async function refuses(t: Test, code: ErrorCode, call: Promise<unknown>): Promise<void> {
  const failure = await call.then(
    () => undefined,
    (error: unknown) => error,
  )
  const failed = failure instanceof CacheError ? failure : undefined
  t.equal(failed?.code, code, failed?.message ?? String(failure))
}

export function turn(): Promise<void> {
  return new Promise(resolve => setTimeout(resolve, 10))
}
