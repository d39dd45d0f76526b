import t from 'tap'
import { parseUrl } from '../../lib/go/urls.ts'

t.test('the port is what follows the last colon outside of brackets', async t => {
  for (const [host, problem] of [
    ['a:80', undefined],
    ['a', undefined],
    ['a:', undefined],
    ['a:b', 'invalid port ":b" after host'],
    ['a:1:b', 'invalid port ":b" after host'],
    ['[::1]', undefined],
    ['[::1]:443', undefined],
    ['[::1]:x', 'invalid port ":x" after host'],
  ] as const) {
    const url = parseUrl(`https://${host}/path`)
    t.equal(typeof url === 'string' ? url : undefined, problem, host)
  }
})

t.test('a host of very many colons takes no longer than it is', async t => {
  t.equal(typeof parseUrl(`https://[${':'.repeat(1_000_000)}`), 'object')
})
