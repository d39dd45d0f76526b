/** Files and folders that `run --apply`, `serve --stages` and `envtest` are given: said in a word
 *  what is wrong with them, and nothing is written behind a link. */

import { execFileSync } from 'node:child_process'
import { lstatSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { once } from 'node:events'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { CacheError } from '../../lib/base/errors.ts'
import type { CommandContext } from '../../lib/cli/commands/context.ts'
import { envtest } from '../../lib/cli/commands/envtest/envtest.ts'
import { declaredIn } from '../../lib/cli/commands/plan/stages.ts'
import { manifestsIn } from '../../lib/cli/commands/test-cluster/manifests.ts'
import { OptionValues } from '../../lib/cli/options/option-values.ts'
import { silentLogger } from '../support/silent-logger.ts'

async function refusal(
  t: Test,
  text: string | Buffer,
  read: (folder: string) => unknown,
): Promise<string> {
  const folder = t.testdir({ 'a.yaml': text })
  try {
    await read(folder)
  } catch (error) {
    t.ok(error instanceof CacheError, String(error))
    return (error as CacheError).message.replace(folder, '')
  }
  return 'taken'
}

t.test('files of objects that are no use are refused with their name', async t => {
  const rows = ['x', 'a', 'b', 'c', 'd', 'e'].map((name, i, all) => {
    const inner = i === 0 ? '1' : `*${all[i - 1]}`
    return `${name}: &${name} [${Array.from({ length: 9 }, () => inner).join()}]`
  })
  const cases: readonly (readonly [string | Buffer, RegExp])[] = [
    [rows.join('\n'), /a\.yaml cannot be read: Excessive alias count/],
    ['['.repeat(20_000), /a\.yaml/],
    ['&a {apiVersion: v1, kind: ConfigMapList, items: [*a]}', /a\.yaml cannot be read/],
    ['apiVersion: v1\nkind: A\nmetadata: {name: x}\ndata: &a {b: *a}', /a\.yaml cannot be read/],
    [Buffer.from([0xff, 0xfe, 0, 1, 2, 0x80]), /a\.yaml/],
  ]
  for (const [text, reason] of cases) {
    t.match(await refusal(t, text, folder => manifestsIn(folder, '--apply')), reason)
    t.match(await refusal(t, text, folder => declaredIn([folder])), /^--stages /)
  }
  t.match(
    await refusal(t, 'a: *b', folder => declaredIn([folder])),
    /^--stages \/a\.yaml cannot be read: Unresolved alias/,
  )
})

t.test('what is no file is left alone', async t => {
  const folder = t.testdir({ 'a.yaml': { 'b.yaml': 'x' } })
  execFileSync('mkfifo', [join(folder, 'pipe.yaml')])
  symlinkSync('/nowhere', join(folder, 'gone.yaml'))
  t.throws(() => manifestsIn(folder, '--apply'), { message: /has no file of YAML or JSON/ })
  await t.rejects(declaredIn([folder]), { code: 'invalid_request', message: /has no Stage of/ })
})

function contextOf(operands: string[], as?: string): CommandContext {
  return {
    values: new OptionValues(new Map(as === undefined ? [] : [['as', [as]]])),
    operands,
    logger: { ...silentLogger, level: 'error' },
    stdout: { isTTY: false, write: () => true },
    signal: new AbortController().signal,
    takeSignals: () => {},
    onSwitch: () => {},
  }
}

t.test('programs are written beside links, and not behind them', async t => {
  const folder = join(t.testdir({}), 'programs')
  const real = join(t.testdirName, 'real')
  writeFileSync(real, 'precious')
  mkdirSync(folder)
  symlinkSync(real, join(folder, 'etcd'))
  symlinkSync('/nowhere', join(folder, 'kubectl'))
  t.equal(await envtest(contextOf([folder])), 0)
  t.equal(readFileSync(real, 'utf8'), 'precious')
  t.ok(lstatSync(join(folder, 'etcd')).isFile())
  t.equal(await envtest(contextOf([folder])), 0, 'and again')
})

t.test('a place or a port that cannot be had is said, and is no bug', async t => {
  const folder = t.testdir({ file: '' })
  await t.rejects(envtest(contextOf([join(folder, 'file')])), { code: 'invalid_request' })
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as { port: number }
  const flags = [`--listen-client-urls=http://127.0.0.1:${port}`]
  await t.rejects(envtest(contextOf(flags, 'etcd')), { code: 'invalid_request' })
  server.close()
})
