/** Which proxy a server is reached through, by the rules of Go's httpproxy. */

import t from 'tap'
import { forwardProxyFor } from '../../lib/kubeconfig/file/forward-proxy.ts'

function proxyOf(
  server: string,
  proxyUrl: string,
  env: Readonly<Record<string, string>> = {},
): string {
  const proxy = forwardProxyFor(new URL(server), proxyUrl, env)
  if (proxy === undefined) return 'none'
  const user = proxy.user === undefined ? '' : `${proxy.user.name}:${proxy.user.password}@`
  return `${proxy.from} ${proxy.type}://${user}${proxy.host}:${proxy.port}`
}

t.test('proxy-url names a proxy', t => {
  const rows: readonly (readonly [string, string])[] = [
    ['', 'none'],
    ['http://p', 'proxy-url http://p:80'],
    ['http://p:3128/', 'proxy-url http://p:3128'],
    ['https://p', 'proxy-url https://p:443'],
    ['socks5://[::1]', 'proxy-url socks5://::1:1080'],
    ['http://a%40b:p%3aw@p:1', 'proxy-url http://a@b:p:w@p:1'],
    ['http://a%:@p:1', 'proxy-url http://a%:@p:1'],
  ]
  for (const [text, expected] of rows) t.equal(proxyOf('https://x', text), expected, text)
  t.throws(() => proxyOf('https://x', 'p:3128'), { code: 'invalid_request' })
  t.throws(() => proxyOf('https://x', 'http://'), { code: 'invalid_request' })
  t.end()
})

t.test('the environment names one where the cluster does not', t => {
  const env = { HTTPS_PROXY: 'http://p:1', http_proxy: 'q' }
  t.equal(proxyOf('https://x', '', env), 'HTTPS_PROXY http://p:1')
  t.equal(proxyOf('https://x', '', { https_proxy: 'p:2' }), 'https_proxy http://p:2')
  t.equal(proxyOf('https://x', 'http://own:1', env), 'proxy-url http://own:1')
  t.equal(proxyOf('https://x', '', { HTTP_PROXY: 'http://p:1' }), 'none')
  t.throws(() => proxyOf('https://x', '', { HTTPS_PROXY: 'socks4://p' }), {
    message: /^HTTPS_PROXY is no URL of a proxy/,
  })
  t.throws(() => proxyOf('http://x', '', env), { message: /^http_proxy cannot be used with/ })
  t.end()
})

t.test('NO_PROXY names servers that are reached directly', t => {
  const rows: readonly (readonly [string, string, boolean])[] = [
    ['', 'x.example', false],
    ['*', 'x.example', true],
    ['example', 'x.example', true],
    ['x.example', 'x.example', true],
    ['.x.example', 'x.example', false],
    ['*.example', 'x.example', true],
    ['*.x.example', 'x.example', false],
    ['ample', 'x.example', false],
    [' y , X.EXAMPLE ', 'x.example', true],
    ['x.example:443', 'x.example', true],
    ['x.example:6443', 'x.example', false],
    ['x.example:6443', 'x.example:6443', true],
    ['10.0.0.0/8', '10.1.2.3', true],
    ['10.0.0.0/8', '11.1.2.3', false],
    ['10.0.0.0/99', '10.1.2.3', false],
    ['10.1.2.3', '10.1.2.3', true],
    ['10.1.2.3:6443', '10.1.2.3', false],
    ['fd00::/8', '[fd00::1]', true],
    ['fd00::1', '[fd00:0::1]', true],
    ['[fd00::1]:443', '[fd00::1]', true],
    ['fd00::/8', '10.1.2.3', false],
    ['nothing', 'localhost', true],
    ['', '127.0.0.9', true],
    ['', '[::1]', true],
  ]
  for (const [excluded, host, isDirect] of rows) {
    const env = { HTTPS_PROXY: 'http://p:1', NO_PROXY: excluded }
    const expected = isDirect ? 'none' : 'HTTPS_PROXY http://p:1'
    t.equal(proxyOf(`https://${host}`, '', env), expected, `${excluded} ${host}`)
  }
  t.end()
})
