/** The formats of texts that schemas may ask for, as kube-openapi's strfmt package has them. */

import t from 'tap'
import { hasFormat, isKnownFormat } from '../../../lib/writes/custom/text-formats.ts'

const lastDays = '01-31 03-31 04-30 05-31 06-30 07-31 08-31 09-30 10-31 11-30 12-31'
  .split(' ')
  .map(day => `2023-${day}`)

/** So many of the longest labels: four are 255 characters, the most that a name may have. */
const labels = (count: number): string => Array(count).fill('a'.repeat(63)).join('.')

/** Texts that have the format, and texts that have not. */
const formats: Readonly<Record<string, readonly [right: string[], wrong: string[]]>> = {
  bsonobjectid: [
    ['507f1f77bcf86cd799439011'],
    ['507f1f77bcf86cd79943901', 'x07f1f77bcf86cd799439011'],
  ],
  uri: [
    ['https://a.b/c', '/a', '*', 'mailto:a', 'http://[::1]:80/', 'http://u@h/'],
    ['', 'a', 'http://a b/', 'http://a:b/', '/%zz', 'http://[::1', '/\u0001', 'http://a<b/'],
  ],
  email: [
    ['a@b', 'A <a@b.c>', '"a b"@c', 'a@[1.2.3.4]', 'a.b@c.d'],
    ['a', '@b', 'a@', 'a b@c', 'a..b@c', 'a@b..c'],
  ],
  hostname: [
    ['a', 'a.bc', 'a-b', labels(4)],
    ['', 'a.', '-', 'a_b', `${'a'.repeat(64)}.bc`, `a.${labels(4)}`],
  ],
  ipv4: [['1.2.3.4'], ['1.2.3', '::1', '1.2.3.400']],
  ipv6: [
    ['::1', 'fd00::'],
    ['1.2.3.4', ':::'],
  ],
  cidr: [
    ['1.2.3.0/24', 'fd00::/64'],
    ['1.2.3.4', '1.2.3.0/33'],
  ],
  mac: [
    ['01:02:03:04:05:06', '01-02-03-04-05-06', '0102.0304.0506', '01:02:03:04:05:06:07:08'],
    ['01:02:03:04:05', '01:02-03:04:05:06', '0102.0304'],
  ],
  uuid: [
    ['f47ac10b-58cc-0372-0567-0e02b2c3d479', 'F47AC10B58CC037205670E02B2C3D479'],
    ['f47ac10b-58cc-0372-0567-0e02b2c3d47', 'g47ac10b-58cc-0372-0567-0e02b2c3d479'],
  ],
  uuid3: [['f47ac10b-58cc-3372-0567-0e02b2c3d479'], ['f47ac10b-58cc-4372-8567-0e02b2c3d479']],
  uuid4: [['f47ac10b-58cc-4372-8567-0e02b2c3d479'], ['f47ac10b-58cc-4372-0567-0e02b2c3d479']],
  uuid5: [['f47ac10b-58cc-5372-b567-0e02b2c3d479'], ['f47ac10b-58cc-5372-c567-0e02b2c3d479']],
  isbn: [
    ['0-306-40615-2', '978-0-306-40615-7'],
    ['0-306-40615-3', '978-0-306-40615-8'],
  ],
  isbn10: [
    ['0306406152', '080442957X'],
    ['0306406153', '978-0-306-40615-7', '030640615'],
  ],
  isbn13: [['9780306406157'], ['9780306406158', '0306406152']],
  creditcard: [
    ['4111 1111 1111 1111', '378282246310005', '5555555555554444'],
    ['4111 1111 1111 1112', '1234', '9111111111111111'],
  ],
  ssn: [
    ['123-45-6789', '123 45 6789', '123456789'],
    ['12-345-6789', '123-45-678', '123-45-6789\n'],
  ],
  hexcolor: [
    ['#fff', 'FFFFFF'],
    ['#ffff', 'ggg', '#fff\n'],
  ],
  rgbcolor: [
    ['rgb(0,255,10)', 'rgb( 1 , 2 , 3 )'],
    ['rgb(256,0,0)', 'rgb(1,2)', 'rgb(01,2,3)'],
  ],
  byte: [
    ['YWI=', 'YQ==', 'YWJj'],
    ['YWI', 'Y===', '', 'YW J'],
  ],
  password: [['', 'anything'], []],
  date: [
    ['2024-02-29', '2000-02-29', '2023-02-28', '2023-01-01', ...lastDays],
    [
      ...'2023-02-29 1900-02-29 2024-02-30 2024-13-01 2024-00-01 2024-04-00'.split(' '),
      ...lastDays.map(day => `${day.slice(0, 8)}${Number(day.slice(8)) + 1}`),
      ...'24-1-1 2024-1-01 2024-01-1 2024-01-01T'.split(' '),
      ' 2024-01-01',
    ],
  ],
  duration: [
    ['1h', '1h2m', '3 days', '1w', '5 MIN'],
    ['', 'x', '1 parsec', 'days'],
  ],
  datetime: [
    ['2024-02-29T23:59:59Z', '2024-01-01t00:00:00+01:00', '2024-01-01T00:00:00.5z'],
    [
      '2024-02-30T00:00:00Z',
      '2024-01-01T24:00:00Z',
      '2024-01-01T00:60:00Z',
      '2024-01-01T00:00:60Z',
      '2024-01-01',
      'T',
      '2024-01-01T00:00:00',
    ],
  ],
  'k8s-short-name': [
    ['a', 'a-b', 'a'.repeat(63)],
    ['A', '-a', 'a.b', 'a'.repeat(64)],
  ],
  'k8s-long-name': [
    ['a.b', 'a'.repeat(253)],
    ['a..b', 'a_b', 'a'.repeat(254)],
  ],
}

for (const [format, [right, wrong]] of Object.entries(formats)) {
  t.test(`texts of the format ${format}`, async t => {
    t.ok(isKnownFormat(format))
    for (const text of right) t.ok(hasFormat(text, format), JSON.stringify(text))
    for (const text of wrong) t.notOk(hasFormat(text, format), JSON.stringify(text))
  })
}

t.test('names of formats', async t => {
  t.ok(isKnownFormat('date-time'))
  t.ok(isKnownFormat('bson-object-id'))
  t.notOk(isKnownFormat('k8s-name'))
  t.notOk(isKnownFormat('toString'))
  t.ok(hasFormat('anything', 'k8s-name'))
})
