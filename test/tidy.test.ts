/** House rules that the linter cannot see. `npm test` fails when one is broken. */

import { existsSync, readFileSync, readdirSync } from 'node:fs'
import { dirname, join, normalize } from 'node:path'
import t from 'tap'
import { long, ownProcess, slowest, suiteBudgets, wholeBudget } from './budgets.ts'

/** The rooms of the core, and what each may import beside itself: arrows point down only
 *  (lib/ARCHITECTURE.md). */
const core: Readonly<Record<string, readonly string[]>> = {
  base: [],
  go: ['base'],
  wire: ['base'],
  store: ['base'],
  etcd: ['store', 'wire', 'go', 'base'],
  watch: ['store', 'base'],
  codec: ['store', 'wire', 'go', 'base'],
  mirror: ['etcd', 'store', 'base'],
  kube: ['codec', 'store', 'wire', 'go', 'base'],
  http: ['kube', 'codec', 'watch', 'store', 'wire', 'go', 'base'],
  upkeep: ['mirror', 'kube', 'codec', 'watch', 'store', 'base'],
  ops: ['base'],
  config: ['base'],
}

/** The wings stand on the core, and none of them knows another one. */
const wings = ['cluster', 'front', 'threads', 'door']

const theCore = Object.keys(core)

/** The same for every folder of lib/; `cli` is the file of that name. */
const mayImport: Readonly<Record<string, readonly string[]>> = {
  ...core,
  ...Object.fromEntries(wings.map(wing => [wing, theCore])),
  compose: [...theCore, ...wings],
  commands: ['compose', ...theCore, ...wings],
  cli: ['commands', 'config', 'base'],
}

/** Rooms inside a room, where their order is known: each imports those before it that it names. `.`
 *  is what lies in no room of its own, but for files that are named, each of which is one. */
const inside: Readonly<Record<string, Readonly<Record<string, readonly string[]>>>> = {
  http: {
    server: [],
    exchange: ['server'],
    auth: ['exchange', 'server'],
    audit: ['exchange'],
    limits: ['exchange', 'server'],
    read: ['limits', 'exchange', 'server'],
    watch: ['limits', 'exchange', 'server'],
    page: ['watch', 'exchange', 'server'],
    documents: ['page', 'auth', 'exchange', 'server'],
    admin: ['documents', 'page', 'exchange', 'server'],
    handler: ['documents', 'watch', 'read', 'limits', 'audit', 'auth', 'exchange', 'server'],
  },
  codec: {
    schema: [],
    '.': ['schema'],
    negotiate: ['.'],
    json: ['.'],
    transcode: ['json', '.', 'schema'],
    table: ['transcode', 'json', '.', 'schema'],
    served: ['transcode', 'json', '.', 'schema'],
    fields: ['served', 'transcode', 'json', '.', 'schema'],
    output: ['served', 'table', 'negotiate', 'transcode', 'json', '.', 'schema'],
  },
  kube: {
    'status.ts': [],
    resources: ['status.ts'],
    selectors: ['resources', 'status.ts'],
    request: ['selectors', 'resources', 'status.ts'],
    documents: ['request', 'resources', 'status.ts'],
    '.': ['documents', 'request', 'selectors', 'resources', 'status.ts'],
  },
  front: {
    upstream: [],
    minors: [],
    evidence: ['upstream'],
    aggregated: ['upstream'],
    knowledge: ['aggregated', 'minors', 'upstream'],
    proxy: ['evidence', 'minors', 'upstream'],
    '.': ['proxy', 'knowledge', 'aggregated', 'evidence', 'minors', 'upstream'],
  },
  cluster: {
    'node-conditions.ts': [],
    'quantities.ts': [],
    usage: ['quantities.ts'],
    'pod-rules': ['cel', 'usage', 'quantities.ts'],
    rbac: [],
    texts: [],
    jq: [],
    templates: [],
    cel: ['texts'],
    write: ['cel', 'rbac', 'texts'],
    admission: ['cel', 'texts', 'write'],
    stages: ['cel', 'jq', 'templates', 'write', 'node-conditions.ts'],
    access: ['rbac', 'write'],
    faults: [],
    stamps: [],
    recordings: ['write'],
    generate: ['stamps', 'node-conditions.ts'],
    streams: [],
    api: ['streams', 'pod-rules', 'usage', 'cel', 'texts', 'write'],
    authority: [],
    controllers: ['admission', 'write'],
    fresh: ['controllers', 'write'],
    actors: [
      'admission',
      'controllers',
      'faults',
      'pod-rules',
      'stages',
      'stamps',
      'templates',
      'usage',
      'write',
      'quantities.ts',
      'node-conditions.ts',
    ],
    '.': [
      'texts',
      'stages',
      'pod-rules',
      'actors',
      'fresh',
      'controllers',
      'access',
      'api',
      'admission',
      'write',
    ],
  },
  threads: {
    mirror: [],
    limits: [],
    process: ['mirror'],
    encodings: ['process'],
    '.': ['encodings', 'process', 'limits', 'mirror'],
  },
  door: {
    engine: [],
    journal: ['engine'],
    listen: [],
    pass: ['listen'],
    answers: ['pass', 'listen', 'engine'],
    access: ['pass', 'listen', 'engine'],
    view: ['answers'],
    '.': ['view', 'access', 'answers', 'pass', 'listen', 'journal', 'engine'],
  },
}

/** Packages that only one file, or one folder, may know. */
const packageOwners: Readonly<Record<string, string>> = {
  etcd3: 'bench/engine/',
  'prom-client': 'lib/ops/metrics',
  undici: 'lib/front/',
}

/** Second words for what the vocabulary has one word for. */
const bannedIdentifiers = /\b(?:rev|revs|subscriber|demux|dispatcher|reflector)\b/

const sources = filesUnder('lib').filter(file => file.endsWith('.ts'))
const tests = [...filesUnder('test'), ...filesUnder('bench')].filter(file => file.endsWith('.ts'))

t.test('imports between the folders of lib/ point down only', async t => {
  const upward: string[] = []
  for (const file of sources) {
    const from = folderOf(file)
    const allowed = mayImport[from]
    t.ok(allowed, `lib/${from} is a folder that the table of layers knows`)
    for (const target of importsOf(file).filter(name => name.startsWith('.'))) {
      const to = folderOf(normalize(join(dirname(file), target)))
      if (to !== from && allowed?.includes(to) !== true) upward.push(`${file} imports ${target}`)
    }
  }
  t.strictSame(upward, [])
})

t.test('the README.md of a room names each of the rooms in it', async t => {
  const missing = readdirSync('lib').flatMap(room => {
    const document = `lib/${room}/README.md`
    if (!existsSync(document)) return []
    const text = readFileSync(document, 'utf8')
    const rooms = readdirSync(`lib/${room}`, { withFileTypes: true }).filter(one =>
      one.isDirectory(),
    )
    return rooms
      .filter(({ name }) => !text.includes(`\`${name}/`))
      .map(({ name }) => `${room}/${name}`)
  })
  t.strictSame(missing, [])
})

t.test('imports between the rooms of a room point down only', async t => {
  const upward: string[] = []
  for (const file of sources) {
    const [room, from] = roomsOf(file)
    const rooms = inside[room]
    if (rooms === undefined) continue
    const allowed = rooms[from]
    t.ok(allowed, `lib/${room}/${from} is a folder that the table of ${room} knows`)
    for (const target of importsOf(file).filter(name => name.startsWith('.'))) {
      const [roomOfTarget, to] = roomsOf(normalize(join(dirname(file), target)))
      if (roomOfTarget !== room || to === from || allowed?.includes(to) === true) continue
      upward.push(`${file} imports ${target}`)
    }
  }
  t.strictSame(upward, [])
})

/** The room of a file of lib/, and the room in that. */
function roomsOf(file: string): readonly [string, string] {
  const [, room = '', ...rest] = file.split('/')
  const [first = ''] = rest
  return [room, rest.length > 1 || inside[room]?.[first] !== undefined ? first : '.']
}

t.test('outside of a wing its code is a type, or loaded by lib/compose/sides.ts', async t => {
  const isAbove = (file: string): boolean => /^lib\/(?:compose|commands)\//.test(file)
  // It runs in a face thread, and nowhere else.
  const ofWing = 'lib/commands/face-thread.ts'
  const strays = sources.filter(isAbove).flatMap(file =>
    loadedBy(file)
      .filter(target => wings.includes(folderOf(normalize(join(dirname(file), target)))))
      .filter(() => file !== 'lib/compose/sides.ts' && file !== ofWing)
      .map(target => `${file} loads ${target}`),
  )
  t.strictSame(strays, [])
})

/** The imports of a file beside types, at once or later. */
function loadedBy(file: string): string[] {
  const text = readFileSync(file, 'utf8').replace(/(?:^|\n)import type [^'"]*from '[^']+'/g, '')
  const found = text.matchAll(/(?:from|import\() ?'(\.[^']+)'/g)
  return [...found].map(([, target = '']) => target)
}

t.test('lib/ARCHITECTURE.md has the same table of rooms', async t => {
  const sets: Record<string, readonly string[]> = { 'the core': theCore, 'the wings': wings }
  const rows = readFileSync('lib/ARCHITECTURE.md', 'utf8').matchAll(
    /^\| `([a-z]+)` +\|[^|]*\| ([a-z, ]+?) *\|$/gm,
  )
  const documented = [...rows].map(([, room = '', imports = '']) => [
    room,
    imports === 'nothing' ? [] : imports.split(', ').flatMap(name => sets[name] ?? [name]),
  ])
  t.strictSame(Object.fromEntries(documented), mayImport)
})

t.test('folders and files that have grown long are named', async t => {
  const folders = ['lib', 'test', 'bench'].flatMap(top => [
    top,
    ...readdirSync(top, { recursive: true, withFileTypes: true })
      .filter(entry => entry.isDirectory())
      .map(entry => join(entry.parentPath, entry.name)),
  ])
  for (const folder of folders) {
    const { length } = readdirSync(folder)
    if (length > 30) {
      t.comment(`${folder} has ${length} entries: does it read as a table of contents?`)
    }
  }
  for (const file of [...sources, ...tests].filter(isHandWritten)) {
    const { length } = readFileSync(file, 'utf8').split('\n')
    if (length > 400) {
      t.comment(`${file} has ${length} lines: is it one thought?`)
    }
  }
})

/** Not made by a tool, and no list of data. */
function isHandWritten(file: string): boolean {
  return !/\/(?:schema|data|proto)\//.test(file)
}

t.test('each bench runs in a test, or each of its parts does', async t => {
  const targetsOf = (file: string): string[] =>
    importsOf(file).map(target => normalize(join(dirname(file), target)))
  const inTests = new Set(filesUnder('test/bench').flatMap(targetsOf))
  const benches = targetsOf('bench/benches.ts').filter(file => file !== 'bench/bench.ts')
  t.strictSame(
    benches.filter(file => ![file, ...targetsOf(file)].some(part => inTests.has(part))),
    [],
  )
})

t.test('a package with an owner is imported by its owner only', async t => {
  const strays = sources.flatMap(file =>
    importsOf(file)
      .filter(name => packageOwners[name] !== undefined && !file.startsWith(packageOwners[name]))
      .map(name => `${file} imports ${name}`),
  )
  t.strictSame(strays, [])
})

t.test('files are short enough to read, and open with what they are for', async t => {
  const handWritten = [...sources, ...tests].filter(isHandWritten)
  const textOf = (file: string): string => readFileSync(file, 'utf8')
  t.strictSame(
    handWritten.filter(file => textOf(file).split('\n').length > 601),
    [],
    'over 600 lines',
  )
  t.strictSame(
    sources.filter(file => isHandWritten(file) && !/^(?:#!.*\n)?\/\*\*? /.test(textOf(file))),
    [],
    'no opening comment',
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

function folderOf(file: string): string {
  const [, name = ''] = file.split('/')
  return name.replace(/\.ts$/, '')
}

/** The threads and processes that a file starts, by the name that it has once built. */
function startedBy(file: string): string[] {
  const built = /new URL\('(\.[^']+)\.js', import\.meta\.url\)/g
  return [...readFileSync(file, 'utf8').matchAll(built)].map(([, name]) => `${name}.ts`)
}

function importsOf(file: string): string[] {
  const text = readFileSync(file, 'utf8')
  const found = text.matchAll(
    /(?:^|\n)(?:import|export)\b[^'"]*?from\s+['"]([^'"]+)['"]|import\(\s*['"]([^'"]+)['"]/g,
  )
  return [...found].map(match => match[1] ?? match[2] ?? '')
}

function filesUnder(folder: string): string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter(entry => entry.isFile())
    .map(entry => join(entry.parentPath, entry.name))
}

t.test('a file that runs its tests side by side has a process of its own', async t => {
  const sideBySide = tests
    .filter(file => file.endsWith('.test.ts') && /^t\.jobs\b/m.test(readFileSync(file, 'utf8')))
    .map(file => join('dist', file.replace(/\.ts$/, '.js')))
  t.ok(sideBySide.length > 0)
  t.strictSame(
    sideBySide.filter(file => !ownProcess.includes(file)),
    [],
  )
})

t.test('the lists of test files name files that exist', async t => {
  const built = new Set(tests.map(file => join('dist', file.replace(/\.ts$/, '.js'))))
  t.strictSame(
    [...long, ...ownProcess, ...slowest].filter(file => !built.has(file)),
    [],
  )
})

t.test('every suite has a time budget, and together they stay under that of the whole', async t => {
  const suites = ['test/lib', 'test'].flatMap(folder =>
    readdirSync(folder, { withFileTypes: true })
      .filter(entry => entry.isDirectory() && entry.name !== 'lib')
      .map(({ name }) => name),
  )
  t.strictSame(
    suites.filter(suite => suiteBudgets[suite] === undefined),
    [],
  )
  const seconds = Object.values(suiteBudgets).reduce((sum, budget) => sum + budget, 0)
  t.ok(seconds / 2 < wholeBudget, `${seconds} s of the processors, of which there are two`)
})

t.test('every dependency is used, and by lib/ if it is not a development one', async t => {
  const manifest = JSON.parse(readFileSync('package.json', 'utf8')) as {
    dependencies: Record<string, string>
  }
  const used = new Set(sources.flatMap(importsOf).map(packageName))
  t.strictSame(
    Object.keys(manifest.dependencies).filter(name => !used.has(name)),
    [],
  )
})

t.test('every file of lib/ is imported by another, or is the program', async t => {
  const imported = new Set(
    [...sources, ...tests].flatMap(file =>
      [...importsOf(file), ...startedBy(file)].map(target =>
        normalize(join(dirname(file), target)),
      ),
    ),
  )
  t.strictSame(
    sources.filter(file => file !== 'lib/cli.ts' && !imported.has(file)),
    [],
  )
})

t.test('what lib/ exports is used in lib/, not by tests only', async t => {
  const used = new Set(sources.flatMap(namesImportedBy))
  // lib/cli.ts loads commands when they are run.
  const whole = new Set(sources.flatMap(modulesImportedWhole))
  const called = sources.filter(file => !file.startsWith('lib/commands/') && !whole.has(file))
  const strays = called.flatMap(file => {
    const text = withoutComments(readFileSync(file, 'utf8'))
    const names = [...text.matchAll(exported)].map(match => match[1] ?? '')
    return names
      .filter(name => text.split(new RegExp(`\\b${name}\\b`)).length === 2)
      .map(name => `${file} ${name}`)
      .filter(name => !used.has(name))
  })
  t.strictSame(strays, [])
})

const exported =
  /^export (?:abstract )?(?:async )?(?:const|let|function\*?|class|interface|type) (\w+)/gm

/** `lib/a/b.ts name` for every name that a file imports from another. */
function namesImportedBy(file: string): string[] {
  const text = readFileSync(file, 'utf8')
  const lists = text.matchAll(
    /(?:^|\n)(?:import|export)\s+(?:type\s+)?\{([^}]*)\}\s+from\s+'(\.[^']+)'/g,
  )
  const late = text.matchAll(/const \{([^}]*)\} = await import\('(\.[^']+)'\)/g)
  return [...lists, ...late].flatMap(([, list = '', target = '']) =>
    list
      .split(',')
      .map(name =>
        name
          .trim()
          .replace(/^type /, '')
          .replace(/ as .*/, ''),
      )
      .map(name => `${normalize(join(dirname(file), target))} ${name}`),
  )
}

/** The modules whose names are called by generated code, and the entrances of wings. */
function modulesImportedWhole(file: string): string[] {
  const found = readFileSync(file, 'utf8').matchAll(/import (?:type )?\* as \w+ from '(\.[^']+)'/g)
  return [...found].map(([, target = '']) => normalize(join(dirname(file), target)))
}

function withoutComments(text: string): string {
  return text.replace(/\/\*[^]*?\*\/|\/\/.*/g, '')
}

t.test('files of lib/ do not import each other in circles', async t => {
  const circles = circlesOf(
    new Map(
      sources.map(file => [
        file,
        importsOf(file).map(target => normalize(join(dirname(file), target))),
      ]),
    ),
  )
  t.strictSame(circles, [])
})

/** The circles among those nodes, one for each knot: a walk from every node back to itself. */
function circlesOf(graph: ReadonlyMap<string, readonly string[]>): string[][] {
  const circles: string[][] = []
  const done = new Set<string>()
  const walk = (node: string, path: readonly string[]): void => {
    const at = path.indexOf(node)
    if (at >= 0) circles.push(path.slice(at))
    if (at >= 0 || done.has(node)) return
    for (const next of graph.get(node) ?? []) walk(next, [...path, node])
    done.add(node)
  }
  for (const node of graph.keys()) walk(node, [])
  return circles
}

function packageName(specifier: string): string {
  return specifier
    .split('/')
    .slice(0, specifier.startsWith('@') ? 2 : 1)
    .join('/')
}
