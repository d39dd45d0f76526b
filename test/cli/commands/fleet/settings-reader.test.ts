import { mkdirSync, rmSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { load } from '../../../../lib/cli/commands/command-line.ts'
import { checkFleetOptions, settingsReaderOf } from '../../../../lib/cli/commands/serve-clusters.ts'
import { commands } from '../../../../lib/cli/commands/commands.ts'
import { entriesIn, mappingIn } from '../../../../lib/cli/commands/fleet/cluster-entries.ts'
import { valuesOfCluster } from '../../../../lib/cli/commands/fleet/cluster-settings.ts'
import type { SettingsReader } from '../../../../lib/cli/commands/fleet/settings-reader.ts'
import type { OptionValues } from '../../../../lib/cli/options/option-values.ts'
import { temporaryFolder, write } from '../../../support/fleet/started-fleet.ts'

const kubeconfig = 'apiVersion: v1\nkind: Config\ncontexts: []\n'

function valuesOf(...args: string[]): OptionValues {
  const invocation = load(['serve', ...args], {})
  if (invocation.kind !== 'run') throw new Error('nothing is run')
  return invocation.values
}

function readerOf(path: string): SettingsReader {
  return settingsReaderOf(valuesOf('--clusters', path))
}

t.test('each file of a folder is a cluster, as a mounted Secret has them', async t => {
  const folder = temporaryFolder(t)
  mkdirSync(join(folder, '..data'))
  write(folder, '..data/team-a', kubeconfig)
  symlinkSync(join('..data', 'team-a'), join(folder, 'team-a'))
  write(folder, 'team-b.kubeconfig', kubeconfig)
  write(folder, 'team-c.yaml', 'etcd: http://127.0.0.1:1\nprefix: /c\nclient-ca: ca.pem\n')
  write(folder, 'Team_D', kubeconfig)
  write(folder, 'team-e', 'a: [')
  write(folder, 'team-f', 'etcdd: x')
  write(folder, 'team-g', 'mirror: all')
  const { clusters, problems } = await readerOf(folder).read()
  t.strictSame(
    clusters.map(({ name, options }) => [name, options]),
    [
      ['team-a', { kubeconfig: [join(folder, 'team-a')] }],
      ['team-b', { kubeconfig: [join(folder, 'team-b.kubeconfig')] }],
      [
        'team-c',
        {
          etcd: ['http://127.0.0.1:1'],
          prefix: ['/c'],
          'client-ca': [join(folder, 'ca.pem')],
        },
      ],
    ],
  )
  t.match(
    problems.map(({ name, text }) => [name, text]),
    [
      ['Team_D', /is not a DNS label/],
      ['team-e', /line 1/],
      ['team-f', /cannot have the option "etcdd"; did you mean etcd\?/],
      ['team-g', /needs a kubeconfig, etcd or upstream/],
    ],
  )
})

t.test('a file has a list of clusters, with options of serve', async t => {
  const folder = temporaryFolder(t)
  write(folder, 'a.kubeconfig', kubeconfig)
  const text = `
clusters:
  - {name: a, kubeconfig: a.kubeconfig, auth: none}
  - {name: b, etcd: [http://127.0.0.1:1, http://127.0.0.1:2], cbor: true}
  - {name: a, etcd: http://127.0.0.1:1}
  - {name: c, listen: 'http://127.0.0.1:1'}
  - {name: d, etcd: {}}
  - {name: e, etcd: x, auth: [none, delegate]}
  - {name: f, kubeconfig: a.kubeconfig, upstream-ca: x}
`
  write(folder, 'clusters.yaml', text)
  const reader = readerOf(join(folder, 'clusters.yaml'))
  const { clusters, problems } = await reader.read()
  t.strictSame(
    clusters.map(({ name }) => name),
    ['a', 'b'],
  )
  t.match(
    problems.map(({ text }) => text),
    [
      /two clusters with the name a/,
      /c cannot have the option "listen"/,
      /d: etcd has one value or more/,
      /e: auth has one value/,
      /f: kubeconfig goes without upstream-ca/,
    ],
  )
  write(folder, 'a.kubeconfig', `${kubeconfig}# renewed\n`)
  const later = await reader.read()
  t.not(later.clusters[0]?.digest, clusters[0]?.digest, 'it is opened anew')
  t.strictSame(later.clusters[1], clusters[1])
  rmSync(join(folder, 'clusters.yaml'))
  await t.rejects(reader.read(), { message: /--clusters .* cannot be read/ })
  write(folder, 'clusters.yaml', 'servers: []')
  await t.rejects(reader.read(), { message: /unknown member "servers"/ })
  write(folder, 'clusters.yaml', 'clusters: {}')
  await t.rejects(reader.read(), { message: /clusters is not a list/ })
})

t.test('a long list is read item by item, as the whole would be', async t => {
  const folder = temporaryFolder(t)
  const items = Array.from({ length: 3_000 }, (_, i) =>
    i % 3 === 0
      ? `  - {name: c${i}, etcd: "http://127.0.0.1:${i + 1}"} # the first - of three`
      : i % 3 === 1
        ? `  -\n    name: c${i}\n    etcd:\n      - http://127.0.0.1:1\n      - http://127.0.0.1:2`
        : `  - name: c${i}\n    # a comment\n\n    etcd: >-\n      http://127.0.0.1:3\n    prefix: |-\n      /a\n`,
  )
  const text = `# clusters\n\nclusters: # all\n${items.join('\n')}\n`
  t.strictSame(await entriesIn(Buffer.from(text)), entriesOfWhole(text))
  write(folder, 'clusters.yaml', text)
  const { clusters, problems } = await readerOf(join(folder, 'clusters.yaml')).read()
  t.strictSame([clusters.length, problems.length], [3_000, 0])
  const json = `{"clusters": [${items.map((_, i) => `{"name": "c${i}", "etcd": "x"}`).join()}]}`
  t.equal((await entriesIn(Buffer.from(json))).length, 3_000)
  t.strictSame(await entriesIn(Buffer.from('clusters:\n')), [])
})

const notPlain: readonly string[] = [
  'clusters:\n- &a {name: a, etcd: x}\n- {name: b, <<: *a}\n',
  'clusters: [{name: a}, {name: b}]',
  'clusters: {}',
  'others:\n- {name: a}\n',
  'clusters:\n- {name: a\n- {name: b}\n',
  'clusters:\n- a\n',
  'clusters:\n- name: a\n  name: b\n',
  'clusters:\n- name: a\nclusters:\n- name: b\n',
  'clusters:\n  - name: a\n - name: b\n',
]

t.test('what is no plain list is read whole, or refused if it is long', async t => {
  for (const text of notPlain) {
    const both = await Promise.allSettled([
      entriesIn(Buffer.from(text)),
      Promise.resolve().then(() => entriesOfWhole(text)),
    ])
    const [read, whole] = both.map(one =>
      one.status === 'fulfilled' ? one.value : (one.reason as Error).message,
    )
    if (typeof whole === 'string') t.type(read, 'string', text)
    else t.strictSame(read, whole, text)
  }
  const many = Array.from({ length: 20_000 }, (_, i) => `{name: c${i}}`).join()
  await t.rejects(entriesIn(Buffer.from(`clusters: [${many}]`)), {
    message: /^a file of more than 256 KiB has to be a plain list/,
  })
})

t.test('options of the process count for every cluster, with its name in them', async t => {
  const values = valuesOf(
    '--clusters=x',
    '--etcd=http://127.0.0.1:1',
    '--prefix=/{cluster}/registry',
    '--memory-budget=1GiB',
    '--authorized-ttl=5',
  )
  checkFleetOptions(values)
  const { options } = commands.serve
  const own = { name: 'a', options: { 'unauthorized-ttl': ['7'] } }
  const merged = valuesOfCluster(own, values, options)
  t.equal(merged.text('prefix'), '/a/registry')
  t.equal(merged.text('authorized-ttl'), '5')
  t.equal(merged.text('unauthorized-ttl'), '7')
  t.equal(merged.text('memory-budget'), undefined, 'that of the process is shared out')
  t.equal(merged.text('kubernetes-version'), '1.36')
})

/** As they are read in one step. */
function entriesOfWhole(text: string): unknown {
  const { clusters, ...stray } = mappingIn(text)
  if (Object.keys(stray).length > 0 || !Array.isArray(clusters)) throw new Error('no list')
  return clusters.map((one: { readonly name: unknown }) => {
    if (typeof one !== 'object') throw new Error('no entry')
    const { name, ...entry } = one
    return { name, entry }
  })
}

const refused: readonly (readonly [readonly string[], RegExp])[] = [
  [['--threads=2'], /^--threads goes without --clusters$/],
  [['--generate=pods=1'], /^--generate goes without --clusters$/],
  [['--etcd-listen=127.0.0.1:0'], /^--etcd-listen goes without --clusters$/],
  [['--audit-log=all.log'], /^--audit-log would be the same for all/],
  [['--upstream=https://127.0.0.1:1'], /^--upstream would be the same for all/],
  [['--etcd=http://127.0.0.1:1'], /^--etcd with --clusters needs --prefix/],
  [['--listen=none'], /^--listen none goes without --clusters$/],
]

t.test('options that would mix clusters are refused', async t => {
  for (const [args, message] of refused) {
    t.throws(
      () => checkFleetOptions(valuesOf('--clusters=x', ...args)),
      { message },
      String(args[0]),
    )
  }
})
