import t from 'tap'
import { adoptSalt } from '../../../lib/cache/http/auth/caller.ts'
import { StaticTokens } from '../../../lib/simulator/access/token-file.ts'

t.test('the file has a token, a user, a uid and groups in each line', async t => {
  const tokens = new StaticTokens(
    [
      'a,ann,u1,"dev,ops"',
      'b,bob,u2',
      '"c","carol ""x""",u3,dev\r',
      '',
      ',nobody,u4',
      'd,first,u5',
      'd,last,u6,',
    ].join('\n'),
  )
  const rows: readonly [string, string | undefined, string, readonly string[]][] = [
    ['a', 'ann', 'u1', ['dev', 'ops']],
    ['b', 'bob', 'u2', []],
    ['c', 'carol "x"', 'u3', ['dev']],
    ['d', 'last', 'u6', []],
    ['', undefined, '', []],
    ['e', undefined, '', []],
  ]
  for (const [token, user, uid, groups] of rows) {
    const expected = user === undefined ? undefined : { user, uid, groups, extra: {} }
    t.strictSame(tokens.userOf(token), expected, token)
  }
  t.equal(new StaticTokens().userOf('a'), undefined)
})

t.test('tokens are found by threads that learn the salt of others later', async t => {
  const tokens = new StaticTokens('a,ann,u1')
  adoptSalt('another')
  t.match(tokens.userOf('a'), { user: 'ann' })
})

t.test('a line that cannot be read is refused, with its number and without its token', async t => {
  t.throws(() => new StaticTokens('a,ann,u1\nsecret,bob'), {
    message: 'record 2 has 2 columns instead of at least 3: token, user name, user uid',
  })
  t.throws(() => new StaticTokens('a,ann,u1\nse"cret,bob,u'), {
    message: 'record 2 has a quote where none may be',
  })
})
