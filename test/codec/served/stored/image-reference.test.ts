import t from 'tap'
import { isLatestImage } from '../../../../lib/codec/served/stored/image-reference.ts'

t.test('the newest image is one without tag and digest, or with that tag', async t => {
  for (const image of ['a', 'a/b', 'a:latest', 'localhost:5000/a', 'REG.io/a', '[::1]:5000/a']) {
    t.ok(isLatestImage(image), image)
  }
  t.ok(isLatestImage(`a:latest@sha256:${'b'.repeat(64)}`), 'a tag counts beside a digest')
})

t.test('what has another tag, a digest, or is no reference is not', async t => {
  const digest = 'a'.repeat(64)
  for (const image of ['a:1', `a@sha256:${digest}`, 'A', '', 'a b', digest, 'a@sha256:abc']) {
    t.notOk(isLatestImage(image), image)
  }
  t.notOk(isLatestImage('x'.repeat(256)), 'a name that is too long')
})

t.test('a reference of any length is read, whatever a client has sent', async t => {
  t.notOk(isLatestImage('x'.repeat(10_000)), 'a name that is too long')
  t.notOk(isLatestImage(`${'x'.repeat(10_000)}:latest`))
  t.notOk(isLatestImage(`a:${'1'.repeat(10_000)}`), 'a tag that is too long')
  t.notOk(isLatestImage(`a@sha256:${'1'.repeat(10_000)}`), 'a digest that is too long')
  t.notOk(isLatestImage('/'.repeat(100_000)))
  t.notOk(isLatestImage(`${'a-'.repeat(500_000)}.b/c`), 'no host')
  const host = `${'a.b-c.'.repeat(100_000)}io`
  t.ok(isLatestImage(`${host}/a`), 'a host may have any length')
  t.ok(isLatestImage(`${host}:5000/a/b:latest`))
  t.notOk(isLatestImage(`${host}:5000/a/b:1`))
  t.notOk(isLatestImage(`${host}:port/a/b`))
  t.notOk(isLatestImage(`-${host}/a`))
})

t.test('long references mean what short ones of the same form mean', async t => {
  const rests = ['a', 'a:latest', 'a:1', 'A', 'a/b:x y', 'a@sha256:abc', 'a__b/c', 'a___b', '']
  const hosts = ['x', 'x-', '-x', 'X', 'x_y', 'x..y', '']
  for (const rest of rests) {
    for (const host of hosts) {
      const short = `q.${host}.io/${rest}`
      const long = `${'q.'.repeat(1_000)}${host}.io/${rest}`
      // A host with an underscore is a path, which may not be so long.
      if (host !== 'x_y') t.equal(isLatestImage(long), isLatestImage(short), short)
    }
  }
})

t.test('a tag, a path and a digest have the lengths that the grammar gives them', async t => {
  const latest = (image: string): boolean => isLatestImage(image)
  const ends = `:latest@sha256:${'b'.repeat(64)}`
  t.ok(latest(`${'x'.repeat(247)}`), 'library/ and the name are 255 characters')
  t.notOk(latest(`${'x'.repeat(248)}`))
  t.ok(latest(`q.io/${'x'.repeat(255)}${ends}`))
  t.notOk(latest(`q.io/${'x'.repeat(256)}${ends}`))
  for (const [algorithm, length] of [
    ['sha256', 64],
    ['sha384', 96],
    ['sha512', 128],
  ] as const) {
    t.ok(latest(`a:latest@${algorithm}:${'b'.repeat(length)}`), algorithm)
    t.notOk(latest(`a:latest@${algorithm}:${'b'.repeat(length - 1)}`), algorithm)
    t.notOk(latest(`a:latest@${algorithm}:${'b'.repeat(length + 1)}`), algorithm)
    t.notOk(latest(`a:latest@${algorithm}:${'B'.repeat(length)}`), algorithm)
    t.notOk(latest(`a@${algorithm}:${'b'.repeat(length)}`), 'a digest alone is no tag')
  }
  t.notOk(latest(`a:latest@md5:${'b'.repeat(32)}`))
})

t.test('the first part of a name is a host only if it looks like one', async t => {
  for (const [image, isLatest] of [
    ['Host/a', true],
    ['host/A', false],
    ['HOST/A', false],
    ['localhost/a', true],
    ['index.docker.io/a', true],
    ['docker.io/a', true],
    ['docker.io/a:latest', true],
    ['q.io', true],
    ['q.io:5000', false],
    ['q.io:5000/a:5000', false],
    ['q-.io/a', false],
    ['a_b/c', true],
    ['a___b/c', false],
    ['a..b', false],
    ['a/', false],
    ['/a', false],
    ['a:', false],
    ['a:.x', false],
    ['a:latest\n', false],
  ] as const) {
    t.equal(isLatestImage(image), isLatest, image)
  }
})
