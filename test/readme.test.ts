/** The documents say what is true of the program: options, scripts, paths; and they are short
 *  enough to be read. */

import { existsSync, readFileSync, readdirSync } from 'node:fs'
import { spawnSync } from 'node:child_process'
import { dirname, join } from 'node:path'
import t from 'tap'
import { benches } from '../bench/benches.ts'
import { commands } from '../lib/cli/commands/commands.ts'
import { manPage } from '../lib/cli/commands/man.ts'
import { metricsDocument } from './support/program/metrics-document.ts'
import { optionsDocument } from './support/program/options-document.ts'

const documents = [
  ...readdirSync('.').filter(name => name.endsWith('.md') && name !== 'CHANGELOG.md'),
  'lib/ARCHITECTURE.md',
  'bench/README.md',
  ...readdirSync('lib', { recursive: true, encoding: 'utf8' })
    .filter(name => name.endsWith('README.md'))
    .map(name => `lib/${name}`),
  ...['deploy', 'docs'].flatMap(folder =>
    readdirSync(folder)
      .filter(name => name.endsWith('.md'))
      .map(name => `${folder}/${name}`),
  ),
]

const textOf = (file: string): string => readFileSync(file, 'utf8')

t.test('docs/OPTIONS.md has the options of the program', async t => {
  const options = textOf('docs/OPTIONS.md')
  const writer = 'node dist/test/support/program/write-options.js'
  t.equal(options, optionsDocument(), `${writer} writes it`)
  for (const { name } of commands.serve.options) t.ok(options.includes(`--${name}`), name)
})

t.test('the man page has the options of the program, and man reads it', async t => {
  const file = 'deploy/watchglass.1'
  const writer = 'node dist/test/support/program/write-options.js'
  t.equal(textOf(file), manPage(), `${writer} writes it`)
  const { stdout, stderr, error } = spawnSync('groff', ['-man', '-Tutf8', '-ww', '-P-cbu', file], {
    encoding: 'utf8',
  })
  if (error !== undefined) {
    t.comment('there is no groff here')
    return
  }
  t.equal(stderr, '')
  for (const { name } of commands.serve.options) t.ok(stdout.includes(`--${name}`), name)
})

t.test('docs/METRICS.md has the metrics of the program', async t => {
  const text = textOf('docs/METRICS.md')
  const writer = 'node dist/test/support/program/write-options.js'
  t.equal(text, await metricsDocument(), `${writer} writes it`)
  const files = readdirSync('lib/cache/ops', { recursive: true, encoding: 'utf8' })
  for (const file of files.filter(name => name.endsWith('.ts'))) {
    for (const [, name = ''] of textOf(`lib/cache/ops/${file}`).matchAll(
      /'(watchglass_[a-z_]+)'/g,
    )) {
      t.ok(text.includes(name), name)
    }
  }
})

t.test('documents name scripts that exist', async t => {
  const { scripts } = JSON.parse(textOf('package.json')) as { scripts: Record<string, string> }
  t.match(textOf('README.md'), /npm ci && npm start/)
  t.match(textOf('README.md'), /npm ci && npm test/)
  for (const file of documents) {
    for (const [, name = ''] of textOf(file).matchAll(/npm run ([a-z:]+)/g)) {
      t.ok(scripts[name], `${file}: npm run ${name}`)
    }
  }
})

t.test('links lead to files that exist', async t => {
  for (const file of documents) {
    for (const [, target = ''] of textOf(file).matchAll(/\]\(([^)#:\s]+)(?:#[^)]*)?\)/g)) {
      t.ok(existsSync(join(dirname(file), target)), `${file}: ${target}`)
    }
  }
})

t.test('paths that documents name exist', async t => {
  for (const file of documents) {
    for (const [path] of textOf(file).matchAll(/(?<![\w/.-])(?:lib|test|bench)\/[\w./-]*\w/g)) {
      t.ok(existsSync(path), `${file}: ${path}`)
    }
  }
})

t.test('figures have a file, or the commit at which they were measured', async t => {
  const known = (commit: string): boolean =>
    spawnSync('git', ['cat-file', '-e', `${commit}^{commit}`]).status === 0
  // A checkout without its history cannot tell.
  const hasHistory = known('9656c7e2')
  const results = readdirSync('bench/results').filter(name => name.endsWith('.json'))
  for (const name of results) {
    const { size, commit } = JSON.parse(textOf(`bench/results/${name}`)) as Record<string, string>
    t.equal(size, 'full', name)
    t.match(commit, /^[0-9a-f]{8}$/, `${name}: of a commit, with nothing changed`)
    if (hasHistory) t.ok(known(commit ?? ''), `${name}: ${commit}`)
  }
  const [, ...sections] = textOf('bench/README.md').split(/^### /m)
  t.ok(sections.length > 5)
  for (const section of sections) {
    const [title = ''] = section.split('\n')
    const [, commit] = /^Measured at `([0-9a-f]{8})`/m.exec(section) ?? []
    const file = results.find(name => section.includes(`bench/results/${name}`))
    t.ok(commit ?? file, `${title}: bench/results/NAME.json, or "Measured at" and a commit`)
    if (hasHistory && commit !== undefined) t.ok(known(commit), `${title}: ${commit}`)
    const benchNames = new Set(benches.map(({ name }) => name))
    for (const [, bench = ''] of section.matchAll(/`npm run bench -- (\w[\w-]*)/g)) {
      t.ok(benchNames.has(bench), `${title}: no bench ${bench}`)
    }
  }
  // The plots of README are those of the file that it names.
  const readme = textOf('README.md')
  for (const [, plot = ''] of readme.matchAll(/bench\/results\/(\w+)\.svg/g)) {
    const file = plot === 'overview' ? 'kube-apiserver' : plot
    t.ok(readme.includes(`bench/results/${file}.json`), `${plot}.svg is of ${file}.json`)
  }
})

t.test('README.md is short enough to be read', async t => {
  const lines = textOf('README.md').trimEnd().split('\n').length
  t.ok(lines <= 180, `README.md has ${lines} lines, of 180 at most`)
})
