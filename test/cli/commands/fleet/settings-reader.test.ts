import { mkdirSync, rmSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { load } from '../../../../lib/cli/commands/command-line.ts'
import { checkFleetOptions, settingsReaderOf } from '../../../../lib/cli/commands/serve-clusters.ts'
import { commands } from '../../../../lib/cli/commands/commands.ts'
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
