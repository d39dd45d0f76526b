import t from 'tap'
import {
  type ShellContainer,
  NoSuchCommand,
  runCommand,
} from '../../../lib/simulator/streams/shell.ts'

const answers = JSON.stringify([
  { command: 'nginx -v', output: 'nginx 1\n' },
  { command: 'fail', error: 'no\n', exitCode: 3 },
])
const container: ShellContainer = {
  pod: 'web',
  name: 'one',
  env: { A: 'b c' },
  folder: '/',
  answers,
}

async function run(
  argv: readonly string[],
  { input = '', isTerminal = false, of = container } = {},
): Promise<readonly [code: number, out: string, err: string]> {
  let [out, err] = ['', '']
  async function* pieces(): AsyncIterable<string> {
    yield* input
  }
  const code = await runCommand(
    argv,
    {
      out: text => (out += text),
      err: text => (err += text),
      input: pieces(),
      isTerminal,
      now: () => new Date(0),
      sleep: () => Promise.resolve(),
    },
    of,
  )
  return [code, out, err]
}

const rows: readonly (readonly [
  argv: readonly string[],
  code: number,
  out: string,
  err?: string,
])[] = [
  [['echo', 'a', 'b'], 0, 'a b\n'],
  [['/bin/echo', '-n', 'a'], 0, 'a'],
  [['false'], 1, ''],
  [['hostname'], 0, 'web\n'],
  [['printenv', 'A'], 0, 'b c\n'],
  [['printenv', 'toString'], 1, ''],
  [['cat', '/etc/hostname'], 0, 'web\n'],
  [['cat', '/x'], 1, '', 'cat: /x: No such file or directory\n'],
  [['sleep', '5'], 0, ''],
  [['sleep', 'x'], 1, '', "sleep: invalid time interval 'x'\n"],
  [['nginx', '-v'], 0, 'nginx 1\n'],
  [['fail', 'now'], 3, '', 'no\n'],
  [
    ['sh', '-c', 'echo "$A" \'$A\' $A; false && echo no; false || echo yes'],
    0,
    'b c $A b c\nyes\n',
  ],
  [['sh', '-c', 'nothing; exit 4; echo never'], 4, '', 'sh: nothing: not found\n'],
  [['bash', '-c', 'constructor'], 127, '', 'sh: constructor: not found\n'],
]

t.test('commands answer as if they had run', async t => {
  for (const [argv, code, out, err = ''] of rows) {
    t.same(await run(argv), [code, out, err], argv.join(' '))
  }
})

t.test('a shell takes lines', async t => {
  t.same(await run(['sh'], { input: 'echo a\n\nfail\n' }), [3, 'a\n', 'no\n'])
  t.same(await run(['cat'], { input: 'all\nof it' }), [0, 'all\nof it', ''])
})

t.test('a terminal shows what is typed, and takes it back', async t => {
  const input = 'echo x\u007fy\rgone\u0003\u0004'
  const [code, out] = await run(['sh'], { input, isTerminal: true })
  t.equal(code, 0)
  t.equal(out, '# echo x\b \by\r\ny\n# gone^C\r\n# ')
})

t.test('a command that nobody knows is none', async t => {
  const error: unknown = await run(['vi']).catch((reason: unknown) => reason)
  t.ok(error instanceof NoSuchCommand)
  t.same(await run(['vi'], { of: { ...container, answers: '{' } }), [
    126,
    '',
    'the annotation watchglass.local/exec of this pod is no JSON\n',
  ])
})
