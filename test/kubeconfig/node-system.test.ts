/** Plugins that are real programs, and files that are real files. */

import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { silentLogger } from '../../lib/base/logger.ts'
import { systemClock } from '../../lib/cache/ops/system.ts'
import { KubeconfigAccess } from '../../lib/kubeconfig/kubeconfig-access.ts'
import { nodeSystem } from '../../lib/kubeconfig/node-system.ts'
import type { PluginEnd } from '../../lib/kubeconfig/system.ts'
import { oneContext } from '../support/kubeconfig/made-system.ts'

const folder = mkdtempSync(join(tmpdir(), 'watchglass-plugins-'))
const system = nodeSystem()

function script(name: string, body: string): string {
  const path = join(folder, name)
  writeFileSync(path, `#!/bin/sh\n${body}\n`, { mode: 0o755 })
  return path
}

function run(command: string, args: readonly string[] = [], maxMs = 600_000): Promise<PluginEnd> {
  const limits = { maxMs, outputMaxBytes: 1_000 }
  return system.run({ command, args, env: process.env, isInteractive: false, ...limits })
}

t.test('a program ends in one of these ways', async t => {
  t.strictSame(await run(script('says', 'printf "%s-" "$@"'), ['a b', 'c']), {
    type: 'exited',
    code: 0,
    output: 'a b-c-',
  })
  t.match(await run(script('fails', 'exit 7')), { type: 'exited', code: 7 })
  t.match(await run(script('dies', 'kill -TERM $$')), { type: 'signalled', signal: 'SIGTERM' })
  t.match(await run(join(folder, 'missing')), { type: 'missing' })
  t.match(await run('no-such-program-of-watchglass'), { type: 'missing' })
  t.match(await run(folder), { type: 'failed', reason: /EACCES/ })
  t.match(await run(script('floods', 'yes')), { type: 'verbose' })
  t.match(await run(script('hangs', 'exec sleep 600'), [], 50), { type: 'late' })
  t.match(
    await run(script('leaves', 'sleep 60 2>/dev/null &'), [], 500),
    { type: 'late' },
    'what it has started keeps its output open',
  )
  t.match(
    await run(script('reads', 'read line && printf "%s" "$line" || printf nothing')),
    { output: 'nothing' },
    'it does not have our standard input',
  )
})

t.test('a kubeconfig and its plugin work together', async t => {
  script(
    'login',
    `case "$KUBERNETES_EXEC_INFO" in *'"interactive":false'*) ;; *) exit 1;; esac
echo 'a line for people' >&2
count=$(cat "$0.count" 2>/dev/null || echo 0); count=$((count + 1)); echo $count > "$0.count"
echo '{"kind":"ExecCredential","apiVersion":"client.authentication.k8s.io/v1beta1","status":{"token":"t'$count'"}}'`,
  )
  const exec = {
    apiVersion: 'client.authentication.k8s.io/v1beta1',
    command: './login',
    interactiveMode: 'Never',
  }
  const kubeconfig = join(folder, 'config')
  writeFileSync(kubeconfig, oneContext({ exec }))
  const access = await KubeconfigAccess.open({
    kubeconfig,
    system,
    clock: systemClock,
    logger: silentLogger,
  })
  t.teardown(() => access.stop())
  const all = await Promise.all(Array.from({ length: 10 }, () => access.credentials()))
  for (const { headers } of all) t.strictSame(headers, { authorization: 'Bearer t1' })
  all[0]?.refused()
  t.strictSame((await access.credentials()).headers, { authorization: 'Bearer t2' })
})

t.test('a plugin is told whether there is a terminal', async t => {
  t.equal(typeof system.isTerminal, 'boolean', 'and nothing else')
})

t.test('a file without an end is not read for ever', async t => {
  await t.rejects(system.readFile('/dev/zero'), { message: 'it has more than 33554432 bytes' })
  const open = (kubeconfig: string): Promise<KubeconfigAccess> =>
    KubeconfigAccess.open({ kubeconfig, system, clock: systemClock, logger: silentLogger })
  await t.rejects(open('/dev/zero'), {
    message: 'kubeconfig /dev/zero: it has more than 33554432 bytes',
  })
  await t.rejects(open(folder), {
    message: `kubeconfig ${folder}: it is a folder, not a file`,
  })
})
