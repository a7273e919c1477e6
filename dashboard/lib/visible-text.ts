// Characters that change how the text around them is drawn or hide in it: controls, zero widths and everything that
// turns the direction of writing.
const HIDDEN =
  "[\\u0000-\\u0008\\u000b-\\u001f\\u007f-\\u009f\\u061c\\u200b-\\u200f\\u2028-\\u202e\\u2060-\\u2069\\ufeff\\ufff9-\\ufffb]";

// Persian, Syriac and the scripts of India spell with the two joiners, and many emoji are several emoji joined. Between
// such characters a joiner hides nothing and stays.
const SCRIPTS =
  "Arabic Syriac Devanagari Bengali Gurmukhi Gujarati Oriya Tamil Telugu Kannada Malayalam Sinhala";
const JOINS = `[${SCRIPTS.replace(/(\w+) ?/g, "\\p{Script=$1}")}\\p{Extended_Pictographic}\\p{Emoji_Modifier}\\ufe0f]`;
const JOINER = `(?<=${JOINS})[\\u200c\\u200d](?=${JOINS})`;

const UNSEEN = new RegExp(`(?!${JOINER})${HIDDEN}`, "gu");

/** The text with its invisible characters written as `\u202e`: a job's data is shown, never obeyed. */
export function visible(text: string): string {
  return text.replaceAll("\r\n", "\n").replace(UNSEEN, written);
}

/** The same on one line: its breaks are written, too. */
export const visibleLine = (text: string) => visible(text).replaceAll("\n", "\\n").replaceAll("\t", "\\t");

const written = (character: string) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`;
