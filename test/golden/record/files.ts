/** Writes a recording in the form that ../load.ts reads. */

import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import type { Recorder } from './recorder.ts'
import type { RecordedServer } from './server.ts'
import { tokenLines, users } from './users.ts'

export interface Version {
  readonly major: string
  readonly minor: string
  readonly gitVersion: string
}

export interface Stage {
  readonly recorder: Recorder
  readonly server: RecordedServer
  readonly version: Version
  readonly featureGates: object
}

/** Writes history, exchanges, watches and meta.json into a folder. */
export async function writeRecording(
  folder: string,
  { recorder, server, version, featureGates }: Stage,
): Promise<void> {
  const { history, exchanges, watches, marks, setupErrors } = recorder
  const end = await history.revisionNow()
  await history.upTo(end)
  mkdirSync(folder, { recursive: true })
  const save = (name: string, rows: readonly object[]): void => {
    const text = rows.map(row => `${JSON.stringify(row)}\n`).join('')
    writeFileSync(join(folder, `${name}.jsonl.gz`), gzipSync(text, { level: 9 }))
  }
  save('history', history.lines)
  save('exchanges', exchanges)
  save('watches', watches)
  const meta = {
    version,
    etcd: server.etcdVersion,
    marks,
    end_revision: end,
    users,
    token_auth_file: tokenLines,
    flags: server.flags,
    feature_gates: featureGates,
    setup_errors: setupErrors,
    exchange_counts: countsOf(exchanges),
    watch_counts: countsOf(watches),
    history_events: history.lines.length,
  }
  writeFileSync(join(folder, 'meta.json'), `${JSON.stringify(meta, undefined, 1)}\n`)
}

function countsOf(recorded: readonly { readonly area: string }[]): Record<string, number> {
  const counts: Record<string, number> = {}
  for (const { area } of recorded) counts[area] = (counts[area] ?? 0) + 1
  return Object.fromEntries(Object.entries(counts).sort(([a], [b]) => (a < b ? -1 : 1)))
}
