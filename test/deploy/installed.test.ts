/** The package that is installed somewhere else, and run from there. */

import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync } from 'node:fs'
import { cp, mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import t, { type Test } from 'tap'
import { patient } from '../support/patience.ts'
import { pack } from '../support/program/package.ts'

const run = promisify(execFile)

/** Runs npm in a folder of its own, as on another machine. The packages that we depend on come from
 *  the registry, or from npm's cache. */
async function npm(folder: string, ...args: string[]): Promise<void> {
  const quiet = ['--prefer-offline', '--no-audit', '--no-fund', '--loglevel', 'error']
  await run('npm', [...args, ...quiet], { cwd: folder, timeout: patient(120_000) })
}

/** Makes the list of packages in the image, by the image's own command, where nothing but the
 *  program and what it needs is installed. Each installed package must be in it. */
async function checkPartsList(t: Test, folder: string, copy: string): Promise<void> {
  const dockerfile = readFileSync('deploy/Dockerfile', 'utf8')
  const [, command = ''] = /^RUN (.*npm sbom .*) > sbom\.cdx\.json$/m.exec(dockerfile) ?? []
  await cp(folder, copy, { recursive: true })
  const { stdout } = await run('sh', ['-c', command], { cwd: copy })
  const { bomFormat, components } = JSON.parse(stdout) as {
    bomFormat: string
    components: readonly { readonly purl: string }[]
  }
  t.equal(bomFormat, 'CycloneDX')
  const installed = await readdir(join(folder, 'node_modules'), { recursive: true })
  const expected = installed
    .filter(path => /(?:^|node_modules\/)(?:@[^/]+\/)?[^/@]+\/package\.json$/.test(path))
    .map(path => {
      const text = readFileSync(join(folder, 'node_modules', path), 'utf8')
      const { name, version } = JSON.parse(text) as { name: string; version: string }
      return `pkg:npm/${name.replace('@', '%40')}@${version}`
    })
  t.strictSame(components.map(({ purl }) => purl).toSorted(), [...new Set(expected)].toSorted())
}

t.test('the package works where it is installed', async t => {
  const folder = t.testdir({ global: {}, image: {} })
  // A release gives the very file that it publishes.
  const { PACKED: packed } = process.env
  const manifest = JSON.parse(readFileSync('package.json', 'utf8')) as Record<string, unknown>
  const tarball = packed ?? join(folder, (await pack(folder)).filename)
  const prefix = join(folder, 'global')
  try {
    await npm(folder, 'install', '--global', '--prefix', prefix, tarball)
  } catch (error) {
    const { message } = error as Error
    const isUnreachable = /ENOTCACHED|ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ETIMEDOUT/.test(message)
    if (!isUnreachable || process.env['CI'] === 'true') throw error
    t.comment(`not installed: the packages could not be had: ${message}`)
    return
  }
  const binary = join(prefix, 'bin/watchglass')
  t.ok(existsSync(join(prefix, 'share/man/man1/watchglass.1')), 'man watchglass')
  t.ok(existsSync(join(prefix, 'lib/node_modules/watchglass/dist/program/cli.js')))
  await checkPartsList(t, join(prefix, 'lib/node_modules/watchglass'), join(folder, 'image'))
  const version = String(manifest['version'])
  const shown = await run(binary, ['--version'], { cwd: folder })
  t.equal(shown.stdout, `watchglass ${version}\n`)
  // What is installed globally npx takes as it is. Below our own package.json it would build and
  // take this project.
  const home = await mkdtemp(join(tmpdir(), 'watchglass-npx-'))
  t.teardown(() => rm(home, { recursive: true }))
  const { stdout } = await run('npx', ['--offline', 'watchglass', '--version'], {
    cwd: home,
    env: { ...process.env, npm_config_prefix: prefix },
    timeout: patient(120_000),
  })
  t.equal(stdout, `watchglass ${version}\n`, 'npx watchglass')

  const args = ['serve', '--generate', 'pods=30', '--listen', 'http://127.0.0.1:0']
  const child = spawn(binary, args, { cwd: folder, stdio: ['ignore', 'pipe', 'ignore'] })
  const exited = once(child, 'exit') as Promise<[number | null]>
  t.teardown(() => child.kill())
  let said = ''
  for await (const piece of child.stdout as AsyncIterable<Buffer>) {
    said += piece.toString()
    if (said.includes('\n  first  ')) break
  }
  const address = /http:\/\/127\.0\.0\.1:\d+/.exec(said)?.[0] ?? ''
  const pods = (await (await fetch(`${address}/api/v1/pods`)).json()) as { items: unknown[] }
  t.equal(pods.items.length, 30)
  const page = await fetch(`${address}/`, { headers: { accept: 'text/html' } })
  t.match(await page.text(), /<title>Watchglass<\/title>/)
  child.kill()
  t.strictSame(await exited, [0, null])
})
