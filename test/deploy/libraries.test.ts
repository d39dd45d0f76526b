/** The libraries that are published beside the program: packed, installed in an empty folder, and
 *  used there as their pages say. */

import { execFile, spawnSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import t, { type Test } from 'tap'
import { patient } from '../support/patience.ts'
import { type libraries, pack } from '../support/program/package.ts'

type Library = (typeof libraries)[number]

/** Installs packed files in a folder of their own. False where a package that they depend on cannot
 *  be had. */
async function install(folder: string, ...packed: string[]): Promise<boolean> {
  writeFileSync(join(folder, 'package.json'), '{"private":true,"type":"module"}')
  const quiet = ['--prefer-offline', '--no-audit', '--no-fund', '--loglevel', 'error']
  try {
    const args = ['install', ...packed, ...quiet]
    await promisify(execFile)('npm', args, { cwd: folder, timeout: patient(120_000) })
    return true
  } catch (error) {
    const { message } = error as Error
    const isUnreachable = /ENOTCACHED|ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ETIMEDOUT/.test(message)
    if (!isUnreachable || process.env['CI'] === 'true') throw error
    return false
  }
}

/** A packed library: the one that a release publishes, or what is built now. */
async function packedIn(folder: string, library: Library): Promise<string> {
  const released = process.env['PACKED_LIBRARIES']?.split(':') ?? []
  const known = released.find(path => path.includes(`watchglass-${library}-`))
  return known ?? join(folder, (await pack(folder, library)).filename)
}

function run(
  folder: string,
  file: string,
): { readonly code: number | null; readonly said: string } {
  const { TAP: _tap, NODE_OPTIONS: _options, ...env } = process.env
  const { status, stdout, stderr } = spawnSync(process.execPath, [file], {
    cwd: folder,
    encoding: 'utf8',
    env,
  })
  return { code: status, said: `${stdout}${stderr}` }
}

/** Compiles as strictly as TypeScript can, the declarations of the package too. */
function checkTypes(t: Test, folder: string, source: string, types: readonly string[]): void {
  writeFileSync(join(folder, 'typed.mts'), source)
  const flags = ['--ignoreConfig', '--module', 'nodenext', '--target', 'es2023', '--strict']
  const checks = ['--exactOptionalPropertyTypes', '--noEmit', '--skipLibCheck', 'false']
  const roots = ['--typeRoots', resolve('node_modules/@types'), '--types', types.join(',')]
  const { status, stdout } = spawnSync(
    resolve('node_modules/.bin/tsc'),
    [...flags, ...checks, ...roots, 'typed.mts'],
    { cwd: folder, encoding: 'utf8' },
  )
  t.equal(status, 0, stdout)
}

/** The first block of a document in a language. */
function blockOf(document: string, language: string): string {
  const fence = '`'.repeat(3)
  const blocks = document.matchAll(new RegExp(`^${fence}(\\w*)\\n(.*?)^${fence}$`, 'gms'))
  return [...blocks].find(([, one]) => one === language)?.[2] ?? ''
}

t.test('cel prints what its page says, and has types', async t => {
  const folder = t.testdir({})
  t.ok(await install(folder, await packedIn(folder, 'cel')), 'needs nothing else')
  const page = readFileSync(join(folder, 'node_modules/@watchglass/cel/README.md'), 'utf8')
  writeFileSync(join(folder, 'example.mjs'), blockOf(page, 'js'))
  t.strictSame(run(folder, 'example.mjs'), { code: 0, said: blockOf(page, '') })
  const source = `
    import {
      type Compilation, dynType, jsonFromValue, kubernetesEnvironment, valueFromJson,
    } from '@watchglass/cel'
    export function replicasOf(object: string): string {
      const variables = new Map([['object', dynType]])
      const language = kubernetesEnvironment(36)
      const { expression, problems }: Compilation =
        language.compile('object.spec.replicas', variables)
      if (expression === undefined) throw new Error(problems)
      const { value, error, cost } = expression.run([valueFromJson(object)], 100)
      return error ?? \`\${jsonFromValue(value)} for \${cost}\`
    }`
  checkTypes(t, folder, source, ['node'])
})

t.test('cluster starts the program that is installed with it, and has types', async t => {
  const folder = t.testdir({})
  const program = process.env['PACKED'] ?? join(folder, (await pack(folder)).filename)
  if (!(await install(folder, program, await packedIn(folder, 'cluster')))) {
    t.comment('not installed: the packages that the program needs could not be had')
    return
  }
  const source = `
    import { startCluster } from '@watchglass/cluster'
    const cluster = await startCluster({ simulate: 'nodes' })
    await cluster.apply({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'shop' } })
    console.log(new URL(cluster.address).protocol)
    await cluster.stop()`
  writeFileSync(join(folder, 'example.mjs'), source)
  t.strictSame(run(folder, 'example.mjs'), { code: 0, said: 'https:\n' })
  const typed = `
    import { startCluster, type TestCluster } from '@watchglass/cluster'
    export async function start(): Promise<string> {
      await using cluster: TestCluster = await startCluster({ fault: ['reset'] })
      return cluster.kubeconfig
    }`
  checkTypes(t, folder, typed, ['node'])
})
