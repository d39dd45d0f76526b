/** House rules about names and comments. `npm test` fails when one is broken. */

import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'

/** The order of packages: of two with a type of one name the later one calls its own what it
 *  is. */
const renamingOrder = [
  'base',
  'go',
  'store',
  'etcd',
  'codec',
  'kube',
  'cache',
  'proxy',
  'kubeconfig',
  'source',
  'workers',
  'views',
  'etcd-server',
  'cel',
  'writes',
  'simulator',
  'cluster',
  'cli',
]

/** Second words for what the vocabulary has one word for. */
const bannedIdentifiers = /\b(?:rev|revs|subscriber|demux|dispatcher|reflector)\b/

const sources = sourcesUnder('lib')
const tests = ['test', 'bench'].flatMap(sourcesUnder)

function sourcesUnder(folder: string): string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter(entry => entry.isFile() && entry.name.endsWith('.ts'))
    .map(entry => join(entry.parentPath, entry.name))
    .filter(file => !file.includes('node_modules'))
}

/** Not made by a tool, and no list of data. */
function isHandWritten(file: string): boolean {
  return !/\/(?:schema|data|proto)\//.test(file)
}

function packageOf(file: string): string {
  return file.split('/')[1] ?? ''
}

const hasNoSubject =
  /^\s*\/\*\* +(?:It|They|Those|These|The same|So|Who|Whoever|Whose|There (?:is|are))\b/

t.test('a comment names its subject', async t => {
  const strays = sources.flatMap(file =>
    readFileSync(file, 'utf8')
      .split('\n')
      .flatMap((line, i) => (hasNoSubject.test(line) ? [`${file}:${i + 1}`] : [])),
  )
  t.strictSame(strays, [])
})

t.test('no two exported types have the same name', async t => {
  const exported = /^export (?:abstract )?(?:declare )?(?:type|interface|class) (\w+)/gm
  const places = new Map<string, string[]>()
  for (const file of sources) {
    for (const [, name = ''] of readFileSync(file, 'utf8').matchAll(exported)) {
      places.set(name, [...(places.get(name) ?? []), file])
    }
  }
  const later = (files: readonly string[]): string =>
    renamingOrder.findLast(name => files.some(file => packageOf(file) === name)) ?? ''
  t.strictSame(
    [...places]
      .filter(([, files]) => files.length > 1)
      .map(([name, files]) => `${name}: ${later(files)} renames its own, of ${files.join(', ')}`),
    [],
  )
})

t.test('every package has a place in the order of renaming', async t => {
  const packages = new Set(sources.filter(file => file.split('/').length > 2).map(packageOf))
  t.strictSame(
    [...packages].filter(name => !renamingOrder.includes(name)),
    [],
  )
})

t.test('comments wrap at 100 columns', async t => {
  const strays = [...sources, ...tests].filter(isHandWritten).flatMap(file =>
    readFileSync(file, 'utf8')
      .split('\n')
      .flatMap((line, i) => (isLongProse(line) ? [`${file}:${i + 1}`] : [])),
  )
  t.strictSame(strays, [])
})

t.test('a comment begins with the thing, not with a question about it', async t => {
  const strays = [...sources, ...tests].filter(isHandWritten).flatMap(file =>
    readFileSync(file, 'utf8')
      .split('\n')
      .flatMap((line, i) =>
        /^\s*\/\*\* (?:What|How|Where|Of)\b/.test(line) ? [`${file}:${i + 1}`] : [],
      ),
  )
  t.strictSame(strays, [])
})

/** Drawings and tables are as wide as they must be: they have gaps, bars or code. */
function isLongProse(line: string): boolean {
  const [, prose] = /^\s*(?:\/\*\*|\*|\/\/) {1,2}(\S.*)/.exec(line) ?? []
  if (prose === undefined || Array.from(line).length <= 100) return false
  return !/ {2}|^[|{]|^(?:oxlint|@|const )|https?:|[─▶│]/.test(prose)
}

t.test('one word for each thing', async t => {
  const strays = sources.flatMap(file =>
    readFileSync(file, 'utf8')
      .split('\n')
      .flatMap((line, i) =>
        bannedIdentifiers.test(withoutText(line)) ? [`${file}:${i + 1}: ${line.trim()}`] : [],
      ),
  )
  t.strictSame(strays, [])
})

/** The line without comments and string literals: names are judged, words on the wire are not. */
function withoutText(line: string): string {
  return line.replace(/'[^']*'|`[^`]*`|"[^"]*"/g, "''").replace(/\/\/.*|\/?\*.*/, '')
}
