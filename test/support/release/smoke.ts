/** Tries the one executable file as a user does, in a folder where nothing of this repository is:
 *  each part that could have been left out of it. */

import assert from 'node:assert/strict'
import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { manPage } from '../../../lib/cli/commands/man.ts'
import { completionScript } from '../../../lib/cli/commands/completion.ts'
import { version } from '../../../lib/base/version.ts'
import { patient } from '../patience.ts'

const run = promisify(execFile)

/** Fails with the first thing that does not work. */
export async function tryOneFile(file: string): Promise<void> {
  const program = resolve(file)
  const folder = await mkdtemp(join(tmpdir(), 'watchglass-one-file-'))
  try {
    const tried = { program, folder }
    await printsItsTexts(tried)
    await serving(tried, ['--generate', 'pods=30', '--threads', '2'], readsAsKubectl)
    const store = ['--generate', 'pods=30', '--etcd-listen', '127.0.0.1:0']
    await serving(tried, store, async ({ address, etcd }) => {
      await readsAsKubectl({ address })
      const before = ['--etcd', `http://${etcd}`, '--upstream', address, '--auth', 'none']
      const admin = ['--admin-listen', 'http://127.0.0.1:0']
      await serving(tried, [...before, ...admin, '--threads', '2'], passesWrites)
    })
    await startsItselfAgain(tried)
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

interface Tried {
  readonly program: string
  readonly folder: string
}

async function printed({ program, folder }: Tried, ...args: string[]): Promise<string> {
  const { stdout } = await run(program, args, { cwd: folder, timeout: patient(30_000) })
  return stdout
}

async function printsItsTexts(tried: Tried): Promise<void> {
  assert.equal(await printed(tried, '--version'), `watchglass ${version}\n`)
  assert.equal(await printed(tried, 'man'), manPage())
  assert.equal(await printed(tried, 'completion', 'bash'), completionScript('bash'))
  assert.match(await printed(tried, 'stages'), /kind: Stage/)
}

interface Served {
  readonly address: string
  /** The address of etcd's API, if it is served. */
  readonly etcd?: string | undefined
}

/** Serves for as long as a task takes, and stops in order. */
async function serving(
  { program, folder }: Tried,
  args: readonly string[],
  task: (served: Served) => Promise<void>,
): Promise<void> {
  const listen = ['serve', '--listen', 'http://127.0.0.1:0', '--log-level', 'warn']
  const child = spawn(program, [...listen, ...args], { cwd: folder, stdio: 'pipe' })
  const exited = once(child, 'exit') as Promise<[number | null]>
  let log = ''
  child.stderr.on('data', (text: Buffer) => (log += text.toString()))
  try {
    let said = ''
    for await (const piece of child.stdout as AsyncIterable<Buffer>) {
      said += piece.toString()
      if (said.includes('\n  first  ')) break
    }
    const [address] = /http:\/\/127\.0\.0\.1:\d+/.exec(said) ?? []
    assert.ok(address, `watchglass ${args.join(' ')} did not begin to serve: ${log}`)
    await task({ address, etcd: /"etcd":"([^"]+)"/.exec(log)?.[1] })
  } finally {
    child.kill()
  }
  assert.deepEqual(await exited, [0, null], log)
}

/** A list and a watch as kubectl asks for them, each over a new connection, which any of the
 *  threads may take. */
async function readsAsKubectl({ address }: Served): Promise<void> {
  const accept = 'application/json;as=Table;v=v1;g=meta.k8s.io,application/json'
  for (let asked = 0; asked < 8; asked++) {
    const headers = { accept, connection: 'close' }
    const answer = await fetch(`${address}/api/v1/pods?limit=500`, { headers })
    const table = (await answer.json()) as { kind: string; rows: unknown[] }
    assert.equal(table.kind, 'Table')
    assert.equal(table.rows.length, 30)
  }
  const watch = await fetch(`${address}/api/v1/pods?watch=true&timeoutSeconds=1`)
  assert.equal((await watch.text()).trim().split('\n').length, 30)
  const explained = await fetch(`${address}/openapi/v3/apis/apps/v1`)
  assert.match(await explained.text(), /DeploymentSpec is the specification/)
}

/** Reads come from the mirror, and a write reaches the upstream. */
async function passesWrites({ address }: Served): Promise<void> {
  const pods = await fetch(`${address}/api/v1/pods?resourceVersion=0`)
  assert.equal(((await pods.json()) as { items: unknown[] }).items.length, 30)
  const made = await fetch(`${address}/api/v1/namespaces/default/configmaps`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ metadata: { name: 'passed' } }),
  })
  assert.equal(made.status, 201, await made.text())
  assert.match(made.headers.get('x-watchglass') ?? '', /^pass/)
}

/** The server of `run`, and the programs that envtest starts, are this file again. */
async function startsItselfAgain(tried: Tried): Promise<void> {
  const shown = await printed(tried, 'run', '--', 'sh', '-c', 'cat "$KUBECONFIG"')
  assert.match(shown, /server: http/)
  await printed(tried, 'envtest', 'bin')
  const launcher = await readFile(join(tried.folder, 'bin/etcd'), 'utf8')
  assert.match(launcher, new RegExp(`^exec '?${tried.program}'? '?envtest`, 'm'))
}
