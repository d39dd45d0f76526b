/** House rules that the linter cannot see. `npm test` fails when one is broken. */

import { existsSync, readFileSync, readdirSync } from 'node:fs'
import { dirname, join, normalize } from 'node:path'
import t from 'tap'
import { long, ownProcess, slowest, suiteBudgets, wholeBudget } from './budgets.ts'
import { circlesOf } from './support/circles.ts'

/** The packages, each with what its package.json says. */
const packages: ReadonlyMap<string, Manifest> = new Map(
  readdirSync('lib', { withFileTypes: true })
    .filter(entry => entry.isDirectory())
    .map(({ name }) => [name, manifestOf(name)]),
)

interface Manifest {
  readonly name: string
  readonly description: string
  /** Others than those of this repository do not import it. */
  readonly private?: boolean
  readonly exports: Readonly<Record<string, { readonly types: string }>>
  readonly dependencies: Readonly<Record<string, string>>
}

function manifestOf(name: string): Manifest {
  return JSON.parse(readFileSync(`lib/${name}/package.json`, 'utf8')) as Manifest
}

/** The packages of lib/ that one of them depends on. */
function dependenciesOf(name: string): string[] {
  const { dependencies } = packages.get(name) ?? manifestOf(name)
  return Object.keys(dependencies).map(dependency => dependency.replace(scope, ''))
}

const scope = '@watchglass/'

/** The packages that the cache stands on. All others attach to it. */
const ground = ['base', 'go', 'store', 'etcd', 'codec', 'kube']

/** The packages that a service has only where its options ask for them. */
const attached = [
  'proxy',
  'source',
  'workers',
  'views',
  'etcd-server',
  'cel',
  'writes',
  'simulator',
]

/** Rooms inside a folder: each imports those before it that it names. `.` is what lies in no room
 *  of its own, but for files that are named, each of which is one. */
const inside: Readonly<Record<string, Readonly<Record<string, readonly string[]>>>> = {
  base: { '.': [], bytes: ['.'] },
  go: { '.': [], json: ['.'], patterns: ['.'], x509: ['.'] },
  store: { '.': [], watch: ['.'] },
  etcd: { http2: [], proto: [], '.': ['proto'], grpc: ['.', 'http2', 'proto'] },
  cache: { ops: [], mirror: [], http: [], keepers: ['mirror'] },
  'cache/http': {
    server: [],
    request: ['server'],
    auth: ['request', 'server'],
    audit: ['request'],
    limits: ['request', 'server'],
    read: ['limits', 'request', 'server'],
    watch: ['limits', 'request', 'server'],
    page: ['watch', 'request', 'server'],
    documents: ['page', 'auth', 'request', 'server'],
    admin: ['documents', 'page', 'request', 'server'],
    handler: ['documents', 'watch', 'read', 'limits', 'audit', 'auth', 'request', 'server'],
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
  proxy: {
    upstream: [],
    minors: [],
    evidence: ['upstream'],
    aggregated: ['upstream'],
    knowledge: ['aggregated', 'minors', 'upstream'],
    passing: ['evidence', 'minors', 'upstream'],
    '.': ['passing', 'knowledge', 'aggregated', 'evidence', 'minors', 'upstream'],
  },
  source: {
    api: [],
    objects: ['api'],
    watch: ['objects', 'api'],
    '.': ['watch', 'objects', 'api'],
  },
  simulator: {
    'node-conditions.ts': [],
    'quantities.ts': [],
    usage: ['quantities.ts'],
    'pod-rules': ['usage', 'quantities.ts'],
    jq: [],
    templates: [],
    stages: ['jq', 'templates', 'node-conditions.ts'],
    access: [],
    faults: [],
    stamps: [],
    recordings: [],
    generate: ['stamps', 'node-conditions.ts'],
    streams: [],
    containers: ['streams', 'quantities.ts'],
    api: ['streams', 'containers', 'pod-rules', 'usage'],
    authority: [],
    webhooks: [],
    runtime: ['containers'],
    housekeeping: ['runtime', 'authority'],
    'address-range.ts': [],
    fresh: ['housekeeping', 'runtime', 'address-range.ts'],
    nodes: [
      'containers',
      'runtime',
      'faults',
      'stages',
      'stamps',
      'templates',
      'node-conditions.ts',
    ],
    controllers: ['nodes', 'runtime', 'usage', 'quantities.ts'],
    simulation: ['controllers', 'nodes', 'runtime', 'pod-rules', 'stages', 'usage'],
    '.': [
      'address-range.ts',
      'pod-rules',
      'simulation',
      'fresh',
      'housekeeping',
      'runtime',
      'access',
      'api',
      'authority',
      'webhooks',
    ],
  },
  workers: {
    mirror: [],
    limits: [],
    process: ['mirror'],
    encodings: ['process'],
    '.': ['encodings', 'process', 'limits', 'mirror'],
  },
  views: {
    question: [],
    cells: ['question'],
    order: ['cells', 'question'],
    documents: ['order', 'cells', 'question'],
    live: ['documents', 'order', 'question'],
    '.': ['live', 'documents', 'order', 'cells', 'question'],
    http: ['.', 'live', 'documents', 'question'],
  },
  'etcd-server': {
    engine: [],
    journal: ['engine'],
    listen: [],
    pass: ['listen'],
    answers: ['pass', 'listen', 'engine'],
    access: ['pass', 'listen', 'engine'],
    view: ['answers'],
    resources: ['view', 'access', 'answers', 'listen', 'engine'],
    '.': ['resources', 'view', 'access', 'answers', 'pass', 'listen', 'journal', 'engine'],
  },
  cli: { options: [], compose: [], commands: ['compose', 'options'], '.': ['commands', 'options'] },
}

/** Packages that only one file, or one folder, may know. */
const packageOwners: Readonly<Record<string, string>> = {
  etcd3: 'bench/engine/',
  'prom-client': 'lib/cache/ops/metrics',
  undici: 'lib/proxy/',
}

const sources = filesUnder('lib').filter(file => file.endsWith('.ts'))
const tests = [...filesUnder('test'), ...filesUnder('bench')].filter(file => file.endsWith('.ts'))

t.test('packages depend on those that their package.json names, and in no circle', async t => {
  const below = (name: string, path: readonly string[]): string[] =>
    path.includes(name) ? [name] : dependenciesOf(name).flatMap(one => below(one, [...path, name]))
  for (const [name, { name: full, description }] of packages) {
    t.equal(full, `${scope}${name}`)
    t.ok(description.length > 20, `${name} says what it is`)
    t.strictSame(
      dependenciesOf(name).flatMap(one => below(one, [name])),
      [],
      `${name} depends on itself`,
    )
    const { references } = JSON.parse(readFileSync(`lib/${name}/tsconfig.json`, 'utf8')) as {
      references: { path: string }[]
    }
    // The compiler refuses an import of what is not referred to.
    t.strictSame(
      references.map(({ path }) => path.replace('../', '')),
      dependenciesOf(name),
      `${name}: tsconfig.json refers to its dependencies`,
    )
    const imported = sources
      .filter(file => folderOf(file) === name)
      .flatMap(importsOf)
      .filter(target => target.startsWith(scope))
      .map(target => target.slice(scope.length).split('/')[0] ?? '')
    t.strictSame([...new Set(imported)].toSorted(), dependenciesOf(name).toSorted(), name)
  }
  t.strictSame(
    dependenciesOf('cache').toSorted(),
    ground.toSorted(),
    'the cache knows the ground only',
  )
})

t.test('a package is entered by its exports only', async t => {
  const strays = sources.flatMap(file =>
    importsOf(file)
      .filter(target => target.startsWith('.'))
      .filter(target => folderOf(normalize(join(dirname(file), target))) !== folderOf(file))
      .map(target => `${file} imports ${target}`),
  )
  t.strictSame(strays, [])
})

t.test('a package exports what another one imports, and nothing else', async t => {
  const used = new Set(sources.flatMap(namesOfPackages))
  const late = new Set(
    sources
      .flatMap(importsOf)
      .filter(target => target.split('/').length > 2 && target.startsWith(scope)),
  )
  const idle = [...packages].flatMap(([name, { private: isPrivate = false, exports }]) => {
    if (!isPrivate) return []
    const names = exports['.'] === undefined ? [] : namesExportedBy(`lib/${name}/index.ts`)
    const modules = Object.keys(exports)
      .filter(path => path !== '.')
      .map(path => `${scope}${name}${path.slice(1)}`)
    return [
      ...names.map(one => `${scope}${name} ${one}`).filter(one => !used.has(one)),
      ...modules.filter(one => !late.has(one)),
    ]
  })
  t.strictSame(idle, [])
})

/** `@watchglass/store Keyspace` for each name that a file imports from a package. */
function namesOfPackages(file: string): string[] {
  const text = readFileSync(file, 'utf8')
  const lists = text.matchAll(
    /(?:^|\n)(?:import|export)\s+(?:type\s+)?\{([^}]*)\}\s+from\s+'(@watchglass\/[\w-]+)'/g,
  )
  return [...lists].flatMap(([, list = '', target = '']) =>
    namesIn(list).map(name => `${target} ${name}`),
  )
}

function namesExportedBy(file: string): string[] {
  const lists = readFileSync(file, 'utf8').matchAll(/^export (?:type )?\{([^}]*)\}/gm)
  return [...lists].flatMap(([, list = '']) => namesIn(list))
}

/** The names in the braces of an import or export, as the other side calls them. */
function namesIn(list: string): string[] {
  return list
    .split(',')
    .map(name =>
      name
        .trim()
        .replace(/^type /, '')
        .replace(/ as .*/, ''),
    )
    .filter(name => name !== '')
}

t.test('the README.md of a package names each of the folders in it', async t => {
  const missing = [...packages.keys()].flatMap(room => {
    const document = `lib/${room}/README.md`
    if (!existsSync(document)) return [document]
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

t.test('imports between the rooms of a folder point down only', async t => {
  const upward: string[] = []
  for (const [folder, rooms] of Object.entries(inside)) {
    for (const file of sources.filter(one => one.startsWith(`lib/${folder}/`))) {
      if (file === `lib/${folder}/index.ts`) continue
      const from = roomOf(folder, file)
      const allowed = rooms[from]
      t.ok(allowed, `lib/${folder}/${from} is a room that the table of ${folder} knows`)
      for (const target of importsOf(file).filter(name => name.startsWith('.'))) {
        const path = normalize(join(dirname(file), target))
        if (!path.startsWith(`lib/${folder}/`)) continue
        const to = roomOf(folder, path)
        if (to === from || allowed?.includes(to) === true) continue
        upward.push(`${file} imports ${target}`)
      }
    }
  }
  t.strictSame(upward, [])
})

/** The room of a folder in which one of its files lies. */
function roomOf(folder: string, file: string): string {
  const [first = '', ...rest] = file.slice(`lib/${folder}/`.length).split('/')
  return rest.length > 0 || inside[folder]?.[first] !== undefined ? first : '.'
}

t.test(
  'code of an attached package is a type for the program, or loaded when it is asked for',
  async t => {
    // A worker runs nothing else.
    const ofWorkers = 'lib/cli/commands/worker.ts'
    const strays = sources
      .filter(file => file.startsWith('lib/cli/') && file !== ofWorkers)
      .flatMap(file => {
        const text = readFileSync(file, 'utf8').replace(
          /(?:^|\n)import type [^'"]*from '[^']+'/g,
          '',
        )
        return [...text.matchAll(/from '@watchglass\/([\w-]+)'/g)]
          .filter(([, name = '']) => attached.includes(name))
          .map(([found]) => `${file}: ${found}`)
      })
    t.strictSame(strays, [])
  },
)

t.test('lib/ARCHITECTURE.md has the same packages and arrows', async t => {
  const rows = readFileSync('lib/ARCHITECTURE.md', 'utf8').matchAll(
    /^\| `([a-z-]+)` +\|[^|]*\| ([a-z, -]+?) *\|$/gm,
  )
  const documented = [...rows].map(([, name = '', imports = '']) => [
    name,
    imports === 'nothing' ? [] : imports.split(', ').toSorted(),
  ])
  t.strictSame(
    Object.fromEntries(documented),
    Object.fromEntries([...packages.keys()].map(name => [name, dependenciesOf(name).toSorted()])),
  )
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

// V8 gives each generator closure that is called a hidden class in old space, which keeps what the
// closure sees until old space is collected: in one place, it doubled the time of the collector.
t.test('generator functions of lib/ close over nothing: they stand alone, or are methods', t => {
  const nested = /(?:^[ \t]+|[=(,:] *|return )function ?\*/m
  t.strictSame(
    sources.filter(file => nested.test(readFileSync(file, 'utf8'))),
    [],
  )
  t.end()
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
  const suites = readdirSync('test', { withFileTypes: true })
    .filter(entry => entry.isDirectory())
    .map(({ name }) => name)
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
  const entrances = [...packages].flatMap(([name, { exports }]) =>
    Object.values(exports).map(({ types }) => join('lib', name, types)),
  )
  const page = 'lib/cache/http/page'
  const scripts = JSON.parse(readFileSync(`dist/${page}/scripts.json`, 'utf8')) as object
  const imported = new Set([
    ...entrances,
    ...Object.keys(scripts).map(name => `${page}/browser/${name}.ts`),
    ...[...sources, ...tests].flatMap(file =>
      [...importsOf(file), ...startedBy(file)].map(target =>
        normalize(join(dirname(file), target)),
      ),
    ),
  ])
  t.strictSame(
    sources.filter(file => file !== 'lib/cli/cli.ts' && !imported.has(file)),
    [],
  )
})

t.test('what lib/ exports is used in lib/, not by tests only', async t => {
  const used = new Set(sources.flatMap(namesImportedBy))
  // lib/cli/cli.ts loads commands when they are run, and others load modules of packages late.
  const whole = new Set([
    ...sources.flatMap(modulesImportedWhole),
    ...[...packages].flatMap(([name, { exports }]) =>
      Object.values(exports).map(({ types }) => join('lib', name, types)),
    ),
  ])
  const called = sources.filter(file => !file.startsWith('lib/cli/commands/') && !whole.has(file))
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
    namesIn(list).map(name => `${normalize(join(dirname(file), target))} ${name}`),
  )
}

/** The modules whose names are called by generated code, and the entrances of attached packages. */
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
        importsOf(file)
          .filter(target => target.startsWith('.'))
          .map(target => normalize(join(dirname(file), target))),
      ]),
    ),
  )
  t.strictSame(circles, [])
})

function packageName(specifier: string): string {
  return specifier
    .split('/')
    .slice(0, specifier.startsWith('@') ? 2 : 1)
    .join('/')
}
