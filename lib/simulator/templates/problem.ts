/** A template that cannot be used, or that failed on a value: in the words of Go's text/template
 *  where it has some. */
export class TemplateProblem extends Error {}
