import t from 'tap'
import { adminListenOf } from '../../../../lib/cli/commands/plan/upstream.ts'
import { load } from '../../../../lib/cli/commands/command-line.ts'
import { upstreamConnection } from '../../../../lib/cli/commands/plan/upstream-settings.ts'
import { listedValuesOf, valueOf } from '../../../../lib/cli/options/rules.ts'
import { compareOption, compatibleWithOption } from '../../../../lib/cli/options/upstream.ts'

t.test('options of an upstream that make no sense are refused', async t => {
  const cases: readonly (readonly [readonly string[], RegExp])[] = [
    [['--upstream', 'ftp://x'], /--upstream "ftp:\/\/x" is not an address/],
    [['--upstream', 'https://user:secret@x'], /is not an address/],
    [['--upstream', 'https://x/path'], /is not an address/],
    [['--upstream-ca', 'x'], /--upstream-ca needs --upstream/],
    [['--never-cache', 'pods'], /--never-cache needs --upstream/],
    [['--compare', '1%'], /--compare needs --upstream/],
    [['--upstream', 'https://x', '--upstream-token-file', '/nope'], /-token-file cannot be read/],
    [['--upstream', 'https://x', '--upstream-ca', 'LICENSE'], /--upstream-ca LICENSE has no/],
    [
      ['--upstream', 'https://x', '--upstream-cert', 'LICENSE'],
      /-cert and --upstream-key must be given together/,
    ],
    [['--upstream', 'https://x', '--upstream-ca', '/nope'], /--upstream-ca cannot be read/],
    [['--upstream', 'https://x', '--upstream-timeout', '0'], /--upstream-timeout "0"/],
    [
      ['--upstream', 'https://x', '--compare', '2'],
      /--compare "2" is not a percentage such as 0\.1%/,
    ],
    [['--upstream', 'https://x', '--compatible-with', 'x'], /--compatible-with "x"/],
    [['--admin-listen', 'https://127.0.0.1:1'], /--admin-listen must be an http address/],
  ]
  for (const [args, message] of cases) {
    const loaded = load(['serve', ...args], {})
    if (loaded.kind !== 'run') throw new Error('serve is run')
    const { values } = loaded
    t.throws(
      () => {
        upstreamConnection(values)
        listedValuesOf(values, compatibleWithOption)
        valueOf(values, compareOption)
        adminListenOf(values)
      },
      { code: 'invalid_request', message },
      args.join(' '),
    )
  }
})

t.test('an upstream is read from the options', async t => {
  const loaded = load(
    [
      'serve',
      '--upstream',
      'https://a:1, https://b',
      '--compatible-with',
      '1.35,34',
      '--compare=5%',
    ],
    {},
  )
  if (loaded.kind !== 'run') throw new Error('serve is run')
  const { values } = loaded
  const { urls = [], answerMs } = upstreamConnection(values) ?? {}
  t.strictSame(
    urls.map(({ origin }) => origin),
    ['https://a:1', 'https://b'],
  )
  t.equal(answerMs, 75_000)
  t.strictSame(listedValuesOf(values, compatibleWithOption), [35, 34])
  t.equal(valueOf(values, compareOption), 0.05)
  t.match(adminListenOf(values), { protocol: 'http', host: '127.0.0.1', port: 8002 })
  const alone = load(['serve'], {})
  t.equal(alone.kind === 'run' && adminListenOf(alone.values), undefined)
})
