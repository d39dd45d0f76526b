import t from 'tap'
import { CacheError } from '../../../lib/base/errors.ts'
import { commandGroups, commands } from '../../../lib/cli/commands/commands.ts'
import { helpText } from '../../../lib/cli/commands/help.ts'
import { type CommandLine, load } from '../../../lib/cli/commands/command-line.ts'
import type { CommandRow } from '../../../lib/cli/options/option.ts'

const sample: Readonly<Record<string, CommandRow>> = {
  fetch: {
    operands: '',
    summary: 'Fetches things.',
    options: [
      { name: 'from', value: 'URL', fallback: 'http://127.0.0.1:2379', help: 'Where from.' },
      { name: 'only', value: 'NAME', many: true, help: 'Only these.' },
      { name: 'quiet', help: 'Says nothing.' },
    ],
  },
}

function run(args: string[], env: NodeJS.ProcessEnv = {}): Extract<CommandLine, { kind: 'run' }> {
  const invocation = load(args, env, sample)
  if (invocation.kind !== 'run') throw new Error(`expected a run, got ${invocation.kind}`)
  return invocation
}

t.test('an option is taken from the line, then the environment, then its fallback', async t => {
  t.equal(run(['fetch']).values.text('from'), 'http://127.0.0.1:2379')
  t.equal(run(['fetch'], { WATCHGLASS_FROM: 'http://a' }).values.text('from'), 'http://a')
  t.equal(
    run(['fetch', '--from=http://b'], { WATCHGLASS_FROM: 'http://a' }).values.text('from'),
    'http://b',
  )
  t.equal(run(['fetch', '--quiet']).values.switch('quiet'), true)
  t.equal(run(['fetch'], { WATCHGLASS_QUIET: 'true' }).values.switch('quiet'), true)
  t.equal(run(['fetch']).values.switch('quiet'), false)
  t.strictSame(run(['fetch', '--only', 'a', '--only', 'b']).values.all('only'), ['a', 'b'])
})

t.test('the variable of a Service of our name is no value of an option', async t => {
  const portIn = (env: NodeJS.ProcessEnv): string | undefined => {
    const invocation = load(['proxy'], env)
    return invocation.kind === 'run' ? invocation.values.text('port') : undefined
  }
  t.equal(portIn({ WATCHGLASS_PORT: 'tcp://10.0.0.11:443' }), '8001')
  t.equal(portIn({ WATCHGLASS_PORT: 'udp://10.0.0.11:53' }), '8001')
  t.equal(portIn({ WATCHGLASS_PORT: '8011' }), '8011')
  t.equal(portIn({ WATCHGLASS_PORT: 'http://10.0.0.11' }), 'http://10.0.0.11', 'which is refused')
  t.equal(run(['fetch'], { WATCHGLASS_FROM: 'tcp://a' }).values.text('from'), 'tcp://a')
})

t.test('a value may be a dash, which is standard output', async t => {
  t.equal(run(['fetch', '--from', '-', '--quiet']).values.text('from'), '-')
})

t.test('help and version need no command', async t => {
  t.strictSame(load(['--help'], {}, sample), { kind: 'help', command: undefined })
  t.strictSame(load(['fetch', '--help'], {}, sample), { kind: 'help', command: 'fetch' })
  t.strictSame(load(['help', 'fetch'], {}, sample), { kind: 'help', command: 'fetch' })
  t.strictSame(load(['--version'], {}, sample), { kind: 'version' })
})

const refusals: readonly [string, string[], NodeJS.ProcessEnv, RegExp][] = [
  ['no command', [], {}, /^no command given; try "watchglass --help"$/],
  [
    'an unknown command',
    ['fecth'],
    {},
    /^unknown command "fecth": did you mean fetch\? Otherwise try "watchglass --help"$/,
  ],
  [
    'a word that is like no command',
    ['xyzzy'],
    {},
    /^unknown command "xyzzy"; try "watchglass --help"$/,
  ],
  ['a name that every object has', ['constructor'], {}, /^unknown command "constructor"/],
  ['an option first', ['--from', 'x'], {}, /^option --from before the command/],
  [
    'an unknown option',
    ['fetch', '--form', 'x'],
    {},
    /^unknown option --form: did you mean --from\? Otherwise try "watchglass fetch --help"$/,
  ],
  ['an option like no other', ['fetch', '--zzz=1'], {}, /^unknown option --zzz; try "watchglass/],
  ['a missing value', ['fetch', '--from'], {}, /^option --from needs a value/],
  ['an option as a value', ['fetch', '--from', '--quiet'], {}, /^option --from needs a value/],
  [
    'a value for a switch',
    ['fetch', '--quiet=yes'],
    {},
    /^option '--quiet' does not take an argument/i,
  ],
  [
    'an option twice',
    ['fetch', '--from', 'a', '--from', 'b'],
    {},
    /^option --from is given 2 times/,
  ],
  ['an operand too many', ['fetch', 'me'], {}, /^unexpected argument "me"/],
  [
    'a switch that is neither',
    ['fetch'],
    { WATCHGLASS_QUIET: 'yes' },
    /^WATCHGLASS_QUIET is "yes": a switch is true or false/,
  ],
]

for (const [name, args, env, message] of refusals) {
  t.test(`${name} is refused with what to do`, async t => {
    t.throws(() => load(args, env, sample), {
      name: 'CacheError',
      code: 'invalid_request',
      message,
    })
  })
}

t.test('a failure of the command line is one that the program expects', async t => {
  t.throws(() => load(['fetch', '--nope'], {}, sample), CacheError)
})

t.test('help names every command and option, within 100 columns', async t => {
  const table: Readonly<Record<string, CommandRow>> = commands
  for (const name of [undefined, ...Object.keys(commands)]) {
    const text = helpText(name)
    t.ok(text.endsWith('\n'))
    t.strictSame(
      text.split('\n').filter(line => line.length > 100),
      [],
    )
    const expected =
      name === undefined
        ? Object.keys(commands)
        : (table[name]?.options ?? []).map(o => `--${o.name}`)
    for (const word of expected) t.match(text, word)
  }
})

t.test('help has the width of a terminal, groups, and three examples', async t => {
  for (const name of [undefined, ...Object.keys(commands)]) {
    const lines = helpText(name, 80).split('\n')
    // A word of its own that is longer cannot be broken.
    t.strictSame(
      lines.filter(line => line.length > 80 && line.trim().includes(' ')),
      [],
      name ?? 'the program',
    )
  }
  t.strictSame(
    commandGroups.flatMap(([, names]) => names).toSorted(),
    Object.keys(commands).toSorted(),
  )
  for (const name of ['run', 'serve'] as const) {
    const { groups = [], options, examples = [] } = commands[name]
    t.ok(groups.length > 4, name)
    t.strictSame(
      groups.flatMap(group => group.options),
      options,
    )
    t.equal(examples.length, 3)
    for (const [line] of examples) {
      const [program, ...args] = line.split(' ')
      t.equal(program, 'watchglass')
      t.equal(load(args, {}).kind, 'run', line)
    }
  }
  const [, block = ''] = /\nExamples:\n([^]*?)\n\n/.exec(helpText(undefined)) ?? []
  t.equal(block.split('\n').filter(line => line.startsWith('  watchglass ')).length, 3)
})

t.test('a letter that was left out is likelier than one that was mistaken', async t => {
  t.throws(() => load(['srve'], {}), { message: /did you mean serve\?/ })
  t.throws(() => load(['sve'], {}), { message: /did you mean save\?/ })
})

t.test('options end where the command of an operand begins', async t => {
  const options = [
    { name: 'size', value: 'N', help: 'How large.' },
    { name: 'keep', help: 'Keeps it.' },
  ]
  const known: Readonly<Record<string, CommandRow>> = {
    run: { operands: '-- COMMAND', takesCommand: true, summary: 'Runs it.', options },
  }
  const operandsOf = (...args: string[]): unknown => {
    const invocation = load(['run', ...args], {}, known)
    if (invocation.kind !== 'run') return invocation.kind
    return [invocation.operands, invocation.values.text('size')]
  }
  t.strictSame(operandsOf('--', 'a', '--help', '-v'), [['a', '--help', '-v'], undefined])
  t.strictSame(operandsOf('--size', '3', 'a', '--size', '4'), [['a', '--size', '4'], '3'])
  t.strictSame(operandsOf('--size=3', '--keep', 'a', '--', 'b'), [['a', '--', 'b'], '3'])
  t.strictSame(operandsOf('--keep'), [[], undefined])
  t.equal(operandsOf('--keep', '--help', '--', 'a'), 'help')
  t.throws(() => operandsOf('--kep', 'a'), { message: /unknown option --kep: did you mean --keep/ })
})
