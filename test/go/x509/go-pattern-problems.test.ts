import t from 'tap'
import { goPattern, patternProblem } from '../../../lib/go/patterns/go-pattern.ts'

/** Patterns, and what regexp/syntax of Go 1.26 said of them; nothing if they are right. */
const rows: readonly (readonly [pattern: string, problem?: string])[] = [
  ['(', 'missing closing ): `(`'],
  ['(()', 'missing closing ): `(()`'],
  ['a(b', 'missing closing ): `a(b`'],
  [')', 'unexpected ): `)`'],
  ['a)(', 'unexpected ): `a)(`'],
  ['(a))b', 'unexpected ): `(a))b`'],
  ['[', 'missing closing ]: `[`'],
  ['x[a', 'missing closing ]: `[a`'],
  ['[a-', 'missing closing ]: `[a-`'],
  ['[]', 'missing closing ]: `[]`'],
  ['[^]', 'missing closing ]: `[^]`'],
  ['[[:', 'missing closing ]: `[[:`'],
  ['[\\', 'trailing backslash at end of expression: ``'],
  ['*', 'missing argument to repetition operator: `*`'],
  ['+a', 'missing argument to repetition operator: `+`'],
  ['?', 'missing argument to repetition operator: `?`'],
  ['|*', 'missing argument to repetition operator: `*`'],
  ['(*a)', 'missing argument to repetition operator: `*`'],
  ['(|+)', 'missing argument to repetition operator: `+`'],
  ['(?i)*', 'missing argument to repetition operator: `*`'],
  ['\\Q\\E*', 'missing argument to repetition operator: `*`'],
  ['a**', 'invalid nested repetition operator: `**`'],
  ['a*?*', 'invalid nested repetition operator: `*?*`'],
  ['a+??', 'invalid nested repetition operator: `+??`'],
  ['a{2}{3}', 'invalid nested repetition operator: `{2}{3}`'],
  ['a?+', 'invalid nested repetition operator: `?+`'],
  ['a{1001}', 'invalid repeat count: `{1001}`'],
  ['a{1001}?', 'invalid repeat count: `{1001}`'],
  ['a{2,1}', 'invalid repeat count: `{2,1}`'],
  ['a*{2000}', 'invalid repeat count: `{2000}`'],
  ['a{99999999999999999999}', 'invalid repeat count: `{99999999999999999999}`'],
  ['(a{1000}){2}', 'invalid repeat count: `{2}`'],
  ['(?:a{10}){101}?', 'invalid repeat count: `{101}?`'],
  ['(?', 'invalid or unsupported Perl syntax: `(?`'],
  ['(?i', 'invalid or unsupported Perl syntax: `(?i`'],
  ['(?i-)', 'invalid or unsupported Perl syntax: `(?i-)`'],
  ['(?-)', 'invalid or unsupported Perl syntax: `(?-)`'],
  ['(?i--s)', 'invalid or unsupported Perl syntax: `(?i--`'],
  ['(?=a)', 'invalid or unsupported Perl syntax: `(?=`'],
  ['(?!a)', 'invalid or unsupported Perl syntax: `(?!`'],
  ['(?#a)', 'invalid or unsupported Perl syntax: `(?#`'],
  ['(?>a)', 'invalid or unsupported Perl syntax: `(?>`'],
  ["(?'n'a)", "invalid or unsupported Perl syntax: `(?'`"],
  ['(?P=n)', 'invalid or unsupported Perl syntax: `(?P`'],
  ['(?P>n)', 'invalid or unsupported Perl syntax: `(?P`'],
  ['(?P<', 'invalid or unsupported Perl syntax: `(?P`'],
  ['(?P<a', 'invalid named capture: `(?P<a`'],
  ['(?P<n!>a)', 'invalid named capture: `(?P<n!>`'],
  ['(?<', 'invalid or unsupported Perl syntax: `(?<`'],
  ['(?<=a)b', 'invalid named capture: `(?<=a)b`'],
  ['(?<=a)b>', 'invalid named capture: `(?<=a)b>`'],
  ['(?<!a)', 'invalid named capture: `(?<!a)`'],
  ['(?<>a)', 'invalid named capture: `(?<>`'],
  ['\\', 'trailing backslash at end of expression: ``'],
  ['a\\', 'trailing backslash at end of expression: ``'],
  ['\\1', 'invalid escape sequence: `\\1`'],
  ['(a)\\1', 'invalid escape sequence: `\\1`'],
  ['\\8', 'invalid escape sequence: `\\8`'],
  ['\\x', 'invalid escape sequence: `\\x`'],
  ['\\x4', 'invalid escape sequence: `\\x4`'],
  ['\\x4g', 'invalid escape sequence: `\\x4g`'],
  ['\\x{}', 'invalid escape sequence: `\\x{}`'],
  ['\\x{110000}', 'invalid escape sequence: `\\x{110000`'],
  ['\\x{4g}', 'invalid escape sequence: `\\x{4g`'],
  ['\\x{41', 'invalid escape sequence: `\\x{41`'],
  ['\\C', 'invalid escape sequence: `\\C`'],
  ['\\Z', 'invalid escape sequence: `\\Z`'],
  ['\\G', 'invalid escape sequence: `\\G`'],
  ['\\h', 'invalid escape sequence: `\\h`'],
  ['\\R', 'invalid escape sequence: `\\R`'],
  ['\\é', 'invalid escape sequence: `\\é`'],
  ['\\ud800', 'invalid escape sequence: `\\u`'],
  ['\\u0041', 'invalid escape sequence: `\\u`'],
  ['\\c', 'invalid escape sequence: `\\c`'],
  ['[\\C]', 'invalid escape sequence: `\\C`'],
  ['[a-\\d]', 'invalid escape sequence: `\\d`'],
  ['[z-a]', 'invalid character class range: `z-a`'],
  ['[é-a]', 'invalid character class range: `é-a`'],
  ['[[:foo:]]', 'invalid character class range: `[:foo:]`'],
  ['[[:ALPHA:]]', 'invalid character class range: `[:ALPHA:]`'],
  ['[[:a]b:]', 'invalid character class range: `[:a]b:]`'],
  ['\\p', 'invalid character class range: `\\p`'],
  ['\\pX', 'invalid character class range: `\\pX`'],
  ['\\p{', 'invalid character class range: `\\p{`'],
  ['\\p{Foo}', 'invalid character class range: `\\p{Foo}`'],
  ['a\\p{Old_Italic}b', 'invalid character class range: `\\p{Old_Italic}`'],
  ['[\\P{^Grek}]', 'invalid character class range: `\\P{^Grek}`'],
  ['\\p{}', 'invalid character class range: `\\p{}`'],
  ['a{01}'],
  ['a{,5}'],
  ['a{'],
  ['a{1'],
  ['a{1,'],
  ['a(?i)*'],
  ['^*'],
  ['\\b+'],
  ['(?)a'],
  ['(?U)a+?'],
  ['[]a]'],
  ['[a-]'],
  ['[\\d-z]'],
  ['\\_'],
  ['\\<'],
  ['\\p{lu}'],
  ['\\p{uppercase letter}'],
  ['\\p{greek}'],
  ['\\p{Any}'],
  ['\\p{Assigned}'],
  ['\\pN'],
  ['[[:^word:]]'],
  ['(?<n>a)(?P<n>b)'],
  ['\\Qa'],
  ['x{0}{'],
  ['\\07'],
  ['\\0'],
  ['\\12'],
  ['a{1000}'],
]

t.test('what is wrong with a pattern is said in the words of Go', async t => {
  for (const [pattern, problem] of rows) {
    const expected = problem === undefined ? undefined : `error parsing regexp: ${problem}`
    t.equal(patternProblem(pattern), expected, pattern)
  }
})

t.test('parts nest as deep as in Go', async t => {
  const deep = (levels: number): string => `${'('.repeat(levels)}a${')'.repeat(levels)}`
  t.equal(patternProblem(deep(999)), undefined)
  const problem = `error parsing regexp: expression nests too deeply: \`${deep(1000)}\``
  t.ok(patternProblem(deep(1000)) === problem)
  t.match(patternProblem(`${'(a'.repeat(501)}${')'.repeat(501)}`), 'nests too deeply')
  t.equal(patternProblem(`${'(a'.repeat(500)}${')'.repeat(500)}`), undefined)
  const open = '('.repeat(1001)
  t.ok(patternProblem(open) === `error parsing regexp: missing closing ): \`${open}\``)
})

t.test('flags hold to the end of their group, and are no part to repeat', async t => {
  const found = (pattern: string, text: string): string => {
    const place = goPattern(pattern).find(Array.from(text), 0)
    return place === undefined ? 'nothing' : text.slice(place.start, place.end)
  }
  t.equal(found('a(?i)*b', 'aaB'), 'aaB')
  t.equal(found('(?i:a)b', 'AB'), 'nothing')
  t.equal(found('((?i)a)b', 'Ab'), 'Ab')
  t.equal(found('(?U)a+', 'aaa'), 'a')
  t.equal(found('(?U)a+?', 'aaa'), 'aaa')
  t.equal(found('(?U:a+)a*', 'aaa'), 'aaa')
})

t.test('long patterns are read in a time that grows with their length', async t => {
  const long = 50_000
  for (const part of [
    '(?<n>',
    '[[:',
    '(?i',
    '(',
    'a|',
    '(?:a',
    '\\p{',
    '[',
    '\\Q',
    'a{1',
    '(?P<',
  ]) {
    t.type(patternProblem(part.repeat(long)), 'string', part)
  }
})

t.test('a pattern of many states is found in a time that grows with these', async t => {
  // Eight thousand ways begin at each place.
  const pattern = goPattern(`(a?b?c?d?e?f?g?h?){1000}i`)
  t.equal(pattern.find(Array.from('a'.repeat(150)), 0), undefined)
})
