/** The rules of options, each with the error that an operator reads. */

import t from 'tap'
import { load } from '../../../lib/cli/commands/command-line.ts'
import { commands } from '../../../lib/cli/commands/commands.ts'
import type { Option } from '../../../lib/cli/options/option.ts'
import type { OptionValues } from '../../../lib/cli/options/option-values.ts'
import { checkRules } from '../../../lib/cli/options/rules.ts'
import { rbacOption } from '../../../lib/cli/options/access.ts'

const { options } = commands.serve

function given(...args: string[]): OptionValues {
  const line = load(['serve', ...args], {})
  if (line.kind !== 'run') throw new Error(line.kind)
  return line.values
}

const etcd = '--etcd=http://127.0.0.1:1'
const upstream = '--upstream=https://10.0.0.1:6443'

/** Arguments, and the sentence that refuses them. */
const refused: readonly (readonly [args: readonly string[], message: string])[] = [
  [['--listen=none'], '--listen none needs --etcd-listen'],
  [['--listen=https://a', '--tls-cert=x'], '--listen https://... needs --tls-cert and --tls-key'],
  [['--tls-key=x'], '--tls-key needs --listen https://...'],
  [['--client-ca=x'], '--client-ca needs --listen https://...'],
  [[etcd, '--writable', '--read-only'], '--writable and --read-only exclude each other'],
  [
    [etcd, '--writable', upstream],
    '--writable goes without --upstream: the upstream does the writes',
  ],
  [
    [etcd, '--simulate=nodes'],
    '--simulate needs a server that takes writes: add --writable, without --upstream',
  ],
  [[etcd, '--webhook-host=a'], '--webhook-host needs a server that takes writes: add --writable'],
  [[etcd, '--discover-resources'], '--discover-resources needs --upstream'],
  [
    ['--checkpoint=a'],
    '--checkpoint goes without --etcd embedded: --load fills an etcd in this process',
  ],
  [
    [upstream, '--checkpoint=a'],
    '--checkpoint goes without --upstream without --etcd: no etcd is mirrored',
  ],
  [[etcd, '--upstream-timeout=5'], '--upstream-timeout needs --upstream'],
  [
    [etcd, upstream, '--auth=rbac'],
    '--auth rbac goes without --upstream: the upstream decides; use --auth delegate',
  ],
  [
    ['--auth=rbac', '--review-server=https://a'],
    '--auth rbac and --review-server exclude each other: one of them decides',
  ],
  [['--token-auth-file=x'], '--token-auth-file needs --auth rbac'],
  [
    ['--auth=requestheader'],
    '--auth requestheader needs --listen https://...: a front proxy authenticates with a client certificate',
  ],
  [
    ['--pass-identity=headers', '--front-proxy-cert=x'],
    '--pass-identity headers needs --front-proxy-cert and --front-proxy-key',
  ],
  [
    ['--front-proxy-key=x'],
    '--front-proxy-cert and --front-proxy-key need --pass-identity headers',
  ],
  [['--requestheader-client-ca=x'], '--requestheader-client-ca needs --auth requestheader'],
  [['--review-server-ca=x'], '--review-server-ca needs --review-server'],
  [
    [etcd, upstream, '--fault=latency'],
    '--fault is for a server without an upstream: leave out --fault or --upstream',
  ],
  [['--etcd-listen-key=x'], '--etcd-listen-cert and --etcd-listen-key must be given together'],
  [['--etcd-listen-cert=x', '--etcd-listen-key=x'], '--etcd-listen-cert needs --etcd-listen'],
  [
    ['--etcd-listen-client-ca=x'],
    '--etcd-listen-client-ca needs --etcd-listen-cert and --etcd-listen-key',
  ],
  [
    ['--etcd-listen-allow=a=/b/'],
    '--etcd-listen-allow needs --etcd-listen-client-ca: names come from certificates',
  ],
  [['--durability=os'], '--durability needs --data-dir: the folder that is written to'],
  [[etcd, '--data-dir=x'], '--data-dir is for --etcd embedded only'],
  [['--speed=1x'], '--speed replays a recording: add --load FILE'],
  [['--loop'], '--loop repeats what --speed replays: add --speed'],
  [['--churn=1/s'], '--churn changes generated objects: add --generate'],
]

for (const [args, message] of refused) {
  t.test(`${args.join(' ')} is refused`, async t => {
    t.throws(() => checkRules(given(...args), options), { code: 'invalid_request', message })
  })
}

t.test('options that go together are not refused', async t => {
  const sets: readonly (readonly string[])[] = [
    [],
    ['--upstream-timeout=75'],
    [etcd, upstream, '--compare=1%', '--cache-only=pods'],
    ['--listen=https://a', '--tls-cert=x', '--tls-key=x', '--client-ca=x', '--auth=requestheader'],
    ['--simulate=all', '--stages=x', '--data-dir=x', '--durability=fsync'],
    ['--load=x', '--speed=1x', '--loop'],
    [etcd, '--writable', '--simulate=all'],
  ]
  for (const args of sets) {
    t.doesNotThrow(() => checkRules(given(...args), [...options, rbacOption]), args.join(' '))
  }
})

t.test('rules name options that exist', async t => {
  const known = new Set(options.map(({ name }) => name))
  const rulesOf = ({ needs = [], excludes = [] }: Option): string[] =>
    [...needs, ...excludes].flatMap(({ that, of, says = '', because = '' }) =>
      [...`${that.text} ${of?.text ?? ''} ${says} ${because}`.matchAll(/--([a-z][a-z-]*)/g)].map(
        ([, name = '']) => name,
      ),
    )
  t.strictSame(
    options.flatMap(rulesOf).filter(name => !known.has(name)),
    [],
  )
})
