/** The recorder from its command line to the replay of what it wrote. There is no kube-apiserver to
 *  test against, so ours stands in for one (stand-in.ts): its answers need not be right here, but
 *  they must be recorded so that replaying them finds no difference. */

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import t, { type Test } from 'tap'
import { defaultLimits } from '../../../lib/cache/mirror/limits.ts'
import { schemaOf } from '../../../lib/codec/schema/schema.ts'
import { findEtcd } from '../../support/etcd/real-etcd.ts'
import { startServed } from '../../support/http/served.ts'
import { type Recording, recordingIn } from '../load.ts'
import { HistoryWriter, readsOf, replayReads } from '../replay.ts'
import { replayWatches } from '../watch-replay.ts'
import { replayWrites } from '../write-replay.ts'
import { patient } from '../../support/patience.ts'

const folder = mkdtempSync(join(tmpdir(), 'watchglass-record-test-'))
t.teardown(() => rmSync(folder, { recursive: true, force: true }))

/** A program of the folder that is a shell script. */
function script(name: string, text: string, mode = 0o755): string {
  const file = join(folder, name)
  writeFileSync(file, `#!/bin/sh\n${text}\n`)
  chmodSync(file, mode)
  return file
}

interface Ended {
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
}

/** Runs the recorder as `npm run record:server` does, with a folder of its own for what it keeps
 *  while it runs. */
async function run(...args: string[]): Promise<Ended & { readonly left: string[] }> {
  const temporary = mkdtempSync(join(folder, 'tmp-'))
  const child = spawn(process.execPath, ['dist/test/golden/record/run.js', ...args], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, TMPDIR: temporary },
  })
  let [stdout, stderr] = ['', '']
  child.stdout.on('data', (text: Buffer) => (stdout += text.toString()))
  child.stderr.on('data', (text: Buffer) => (stderr += text.toString()))
  const [code] = (await once(child, 'close')) as [number | null]
  return { code, stdout, stderr, left: readdirSync(temporary) }
}

const etcd = await findEtcd('3.4')
const standIn = script('kube-apiserver', 'exec node dist/test/golden/record/stand-in.js "$@"')
const out = join(folder, 'recording')

/** Enough of them for each kind of record; all of them take two minutes. */
const parts = 'chunks,watches,writes,compaction'

t.test('what is recorded is answered alike when it is replayed', { skip: etcd.skip }, async t => {
  const binaries = ['--apiserver', standIn, '--etcd', etcd.binary]
  const { code, stdout, stderr, left } = await run(...binaries, '--out', out, '--parts', parts)
  t.equal(code, 0, stderr)
  t.match(stdout, /: \d+ exchanges, \d+ watches, \d+ events\n$/)
  t.strictSame(left, [], 'nothing is left')
  const recording = recordingIn(pathToFileURL(`${out}/`), '1.36')
  t.strictSame(recordedFrom(recording), [1, recording.meta().end_revision])
  t.strictSame(writtenByOthers(recording), [], 'what is written was asked for')
  await replayed(t, recording)
})

/** Refused writes during which etcd changed. A stand-in that writes by itself cannot be
 *  replayed. */
function writtenByOthers(recording: Recording): string[] {
  return recording
    .exchanges()
    .filter(({ response, at_revision: from, at_revision_after: to }) => {
      return response.status >= 400 && from !== to
    })
    .map(({ id, request }) => `${id} ${request.method} ${request.path}`)
}

/** The revisions of the history have no gap. */
function recordedFrom(recording: Recording): readonly number[] {
  const revisions = recording.historyBatches().map(({ revision }) => revision)
  const gaps = revisions.filter((revision, i) => i > 0 && revision !== revisions[i - 1]! + 1)
  return [gaps.length + 1, revisions.at(-1) ?? 0]
}

async function replayed(t: Test, recording: Recording): Promise<void> {
  const address = String(recording.exchanges()[0]?.request.headers['Host'])
  const limits = { ...defaultLimits, readWaitMaxMs: patient(300) }
  const options = { schema: schemaOf('1.36'), address, limits }
  const asked = readsOf(recording, new Set(['write', 'auth']))
  const reads = await replayReads(t, await startServed(t, options), {
    recording,
    asked,
    exceptions: {},
    version: '1.1',
  })
  t.ok(reads.total('passed') > 20, `${reads.total('passed')} reads`)
  const served = await startServed(t, options)
  const watches = await replayWatches(t, served, {
    watches: recording.watches(),
    writer: new HistoryWriter(served.client, recording),
    exceptions: {},
  })
  t.ok(watches.total('passed') > 60, `${watches.total('passed')} watches`)
  const asWrites = recording.exchanges().filter(({ area }) => area === 'write')
  const slow = asWrites.filter(({ flags }) => flags.includes('crosses-second'))
  const writes = await replayWrites(t, {
    recording,
    asked: asWrites,
    exceptions: Object.fromEntries(slow.map(({ id }) => [id, 'a second passed within it'])),
  })
  t.ok(writes.total('passed') > 80, `${writes.total('passed')} writes`)
}

t.test('what cannot be started is refused with the reason', { skip: etcd.skip }, async t => {
  const missing = join(folder, 'missing')
  const notExecutable = script('not-executable', 'exit 0', 0o644)
  const failing = script('failing', 'echo "no such flag: $1"; exit 3')
  const silent = script('silent', 'echo "still starting"; exec sleep 600')
  const refusals: readonly (readonly [args: string[], reason: RegExp])[] = [
    [
      ['--etcd', etcd.binary, '--out', out],
      /^--apiserver is missing\nusage: npm run record:server/,
    ],
    [['--apiserver', standIn, '--etcd', etcd.binary], /^--out is missing\n/],
    [apiserver(missing), /^--apiserver .*missing: there is no such file\n$/],
    [apiserver(notExecutable), /^--apiserver .*not-executable: it is not executable/],
    [apiserver(folder), /^--apiserver .*: it is not a file\n$/],
    [apiserver(failing), /kube-apiserver ended with 3; the end of its log:\nno such flag: --etcd/],
    [
      [...apiserver(silent), '--ready', '1'],
      /kube-apiserver was not ready after 1 s; the end of its log:\nstill starting\n$/,
    ],
    [
      ['--apiserver', standIn, '--etcd', failing, '--out', out],
      /^--etcd .*failing: --version failed/,
    ],
    [[...apiserver(standIn), '--parts', 'chunks,nothing'], /^--parts: there is no part "nothing"/],
  ]
  const ended = await Promise.all(refusals.map(([args]) => run(...args)))
  for (const [i, { code, stderr, left }] of ended.entries()) {
    t.match(stderr, refusals[i]![1])
    t.not(code, 0)
    t.strictSame(left, [])
  }
  const { code, stdout } = await run('--help')
  t.equal(code, 0)
  for (const part of ['discovery', 'kinds', 'writes', '--ready']) t.ok(stdout.includes(part), part)
})

function apiserver(binary: string): string[] {
  return ['--apiserver', binary, '--etcd', etcd.binary, '--out', out]
}
