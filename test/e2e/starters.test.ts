/** The starters of deploy/examples run: what a new user copies first. */

import { spawnSync } from 'node:child_process'
import {
  chmodSync,
  cpSync,
  existsSync,
  readFileSync,
  readdirSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join, resolve } from 'node:path'
import t, { type Test } from 'tap'
import { parse } from 'yaml'
import { KubeConfig } from '@kubernetes/client-node'
import { commands } from '../../lib/cli/commands/commands.ts'

interface Ended {
  readonly code: number | null
  readonly said: string
}

const folder = 'deploy/examples'

function run(command: string, args: readonly string[], env: NodeJS.ProcessEnv = {}): Ended {
  // A test of ours must not look like one of theirs.
  const { TAP: _tap, NODE_OPTIONS: _options, NODE_TEST_CONTEXT: _context, ...own } = process.env
  const { status, stdout, stderr, error } = spawnSync(command, args, {
    encoding: 'utf8',
    env: { ...own, ...env },
  })
  return { code: status, said: `${stdout}${stderr}${error?.message ?? ''}` }
}

const cluster = (...args: readonly string[]): Ended => run(process.execPath, ['.', 'run', ...args])

/** The Python that has what the starter needs: the system's, where a package of the system
 *  brought it. */
function findPython(): string | undefined {
  const names = ['python3', '/usr/bin/python3']
  return names.find(name => run(name, ['-c', 'import kubernetes, pytest']).code === 0)
}

t.test('Python, with pytest', async t => {
  const python = findPython()
  if (python === undefined) {
    t.comment('there are no pytest and kubernetes for Python here')
    return
  }
  const tests = ['-m', 'pytest', '-q', '-p', 'no:cacheprovider', `${folder}/python`]
  const { code, said } = cluster('--simulate', 'all', '--', python, ...tests)
  t.match(said, /4 passed/)
  t.equal(code, 0)
  const alone = run(python, tests)
  t.match(alone.said, /start this with: watchglass run/)
  t.equal(alone.code, 2, 'nothing is done where no cluster was made for it')
})

t.test('Node, with its own test runner', async t => {
  const file = `${folder}/node/cluster.test.mjs`
  const { code, said } = cluster('--simulate', 'all', '--', process.execPath, '--test', file)
  t.match(said, /pass 3\b/)
  t.notMatch(said, /Warning/, 'many calls of controllers at once are nothing to warn of')
  t.equal(code, 0, said)
  const alone = run(process.execPath, ['--test', file])
  t.match(alone.said, /start this with: watchglass run/)
  t.equal(alone.code, 1)
})

t.test('Node, with a cluster that the test starts, by the package as it is published', async t => {
  const installed = t.testdir({ node_modules: { '@watchglass': {}, '@kubernetes': {} } })
  const modules = join(installed, 'node_modules')
  cpSync('dist/packages/cluster', join(modules, '@watchglass/cluster'), { recursive: true })
  symlinkSync(process.cwd(), join(modules, 'watchglass'))
  const client = '@kubernetes/client-node'
  symlinkSync(resolve('node_modules', client), join(modules, client))
  const file = join(installed, 'own-cluster.test.mjs')
  cpSync(`${folder}/node/own-cluster.test.mjs`, file)
  const { code, said } = run(process.execPath, ['--test', file])
  t.match(said, /pass 2\b/)
  t.equal(code, 0, said)
  const source = `
    import { startCluster, type TestCluster } from '@watchglass/cluster'
    export async function start(): Promise<number> {
      const cluster: TestCluster = await startCluster({ fault: ['reset'], seed: 1 })
      const met = await cluster.faults.withFault('reset', () => cluster.faults.met())
      await cluster[Symbol.asyncDispose]()
      return met[0]?.met ?? 0
    }`
  writeFileSync(join(installed, 'typed.mts'), source)
  const flags = ['--ignoreConfig', '--module', 'nodenext', '--strict', '--noEmit', '--typeRoots']
  const types = [resolve('node_modules/@types'), '--types', 'node']
  const typed = run('npx', ['tsc', ...flags, ...types, join(installed, 'typed.mts')])
  t.equal(typed.code, 0, typed.said)
})

for (const name of ['controller', 'gitops', 'dashboard']) {
  t.test(`${name}.mjs asks nobody before it was told whom`, async t => {
    const example = (...args: readonly string[]): Ended =>
      run(process.execPath, [`${folder}/${name}.mjs`, ...args])
    t.match(example('--help'), { code: 0, said: /^Usage: node / })
    t.match(example(), { code: 2, said: /^say the address of the server.*\nUsage: / })
    t.match(example('--wrong'), { code: 2, said: /^Unknown option '--wrong'/ })
    t.match(example('127.0.0.1:8001'), { code: 2, said: /^say the address/ })
    t.match(example('http://a', 'http://b'), {
      code: 2,
      said: /^one address, not also "http:\/\/b"/,
    })
  })
}

t.test('counts of an example are numbers', async t => {
  const args = [`${folder}/gitops.mjs`, '--apps', 'many', 'http://127.0.0.1:1']
  t.match(run(process.execPath, args), { code: 2, said: /^--apps takes a number above 0/ })
})

interface Action {
  readonly inputs: Readonly<Record<string, { readonly default?: string }>>
  readonly runs: {
    readonly steps: readonly { readonly run?: string; readonly env?: NodeJS.ProcessEnv }[]
  }
}

/** The program by its name, as an installed package has it. */
function programIn(t: Test): string {
  const bin = t.testdir({
    watchglass: `#!/bin/sh\nexec "${process.execPath}" "${process.cwd()}" "$@"\n`,
  })
  chmodSync(join(bin, 'watchglass'), 0o755)
  return `${bin}:${process.env['PATH']}`
}

t.test('the GitHub Action runs its command, and passes its exit code on', async t => {
  const action = parse(readFileSync(`${folder}/action/action.yml`, 'utf8')) as Action
  t.ok(Object.keys(action.inputs).includes('command'))
  for (const { run: script } of action.runs.steps) {
    t.notMatch(script ?? '', '${{', 'inputs are no part of a script')
  }
  const last = action.runs.steps.at(-1)!
  t.strictSame(Object.keys(last.env!), ['COMMAND', 'OPTIONS'])
  const PATH = programIn(t)
  const steps = (COMMAND: string, OPTIONS: string): Ended =>
    run('sh', ['-e', '-c', last.run!], { PATH, COMMAND, OPTIONS })
  t.match(steps('test -f "$KUBECONFIG" && echo "a  b" && exit 7', '--log-level error --seed 2'), {
    code: 7,
    said: /^a {2}b\n$/,
  })
  t.match(steps('true', '--no-such'), { code: 2, said: /no-such/ })
})

interface Compose {
  readonly services: Readonly<Record<string, { readonly command: readonly string[] }>>
  readonly configs: { readonly kubeconfig: { readonly content: string } }
}

t.test('the compose file starts a server that its kubeconfig leads to', async t => {
  const compose = parse(readFileSync(`${folder}/compose/compose.yaml`, 'utf8')) as Compose
  const [command, ...args] = compose.services['cluster']!.command
  t.equal(command, 'serve')
  const config = new KubeConfig()
  config.loadFromString(compose.configs.kubeconfig.content)
  const { host, port, protocol } = new URL(config.getCurrentCluster()!.server)
  t.ok(compose.services[host.split(':')[0]!], 'the name of a service')
  const listens = args.map(arg => (arg.startsWith('http') ? new URL(arg) : undefined))
  const listen = listens.find(url => url !== undefined)!
  t.strictSame([listen.protocol, listen.port], [protocol, port])
  const options = args.map(arg => (arg.startsWith('http') ? 'http://0.0.0.0:0' : arg))
  const { code, said } = run(process.execPath, ['.', 'check', ...options])
  t.match({ code, said }, { code: 0, said: /0 failed/ })
})

t.test('the walk of docs/TESTING.md', async t => {
  if (run('kubectl', ['version', '--client']).code !== 0) {
    t.comment('there is no kubectl here')
    return
  }
  const text = readFileSync('docs/TESTING.md', 'utf8')
  const [, walk = ''] = /## A walk\n\n```sh\n(.*?)```/s.exec(text) ?? []
  const [first = '', ...lines] = walk.trim().split('\n')
  t.match(first, /^watchglass run .* -- sh$/)
  t.equal(lines.pop(), 'exit')
  const script = lines.map(line => `${line}\necho "code $?"`).join('\n')
  const options = first.split(' ').slice(2, -2)
  const { said } = cluster(...options, '--', 'sh', '-c', script)
  const codes = [...said.matchAll(/^code (\d+)$/gm)].map(([, code]) => Number(code))
  t.strictSame(
    codes,
    lines.map(line => (line.endsWith('# forbidden') ? 1 : 0)),
    said,
  )
  t.match(said, /successfully rolled out/)
  t.match(said, /User "visitor" cannot list resource "pods"/)
})

t.test('starters that are not run here say so, and name options that exist', async t => {
  for (const file of ['go/cluster_test.go', 'java/ClusterTest.java']) {
    t.match(readFileSync(join(folder, file), 'utf8'), /the tests of this repository do not run it/)
  }
  const known = commands.run.options.map(({ name }) => name)
  for (const name of readdirSync(folder, { recursive: true, encoding: 'utf8' })) {
    const file = join(folder, name)
    if (!/\.\w+$/.test(name) || !existsSync(file)) continue
    for (const [, options = ''] of readFileSync(file, 'utf8').matchAll(
      /watchglass run (.*?) -- /g,
    )) {
      for (const [, option = ''] of options.matchAll(/--([a-z-]+)/g)) {
        t.ok(known.includes(option), `${file}: --${option}`)
      }
    }
  }
})
