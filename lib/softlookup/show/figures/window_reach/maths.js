// The window's reach: the words before the verb, and which of them stand in a window of n - 1.

/** The words before the verb, with the first phrases in between; the subject is the second. */
export const wordsBefore = (data, count) => ["the", data.subject, ...data.phrases.slice(0, count).flat()];

/** How many words before the verb the subject stands. */
export const distance = (words) => words.length - 1;

/** Whether the word at a place stands among the last n - 1. */
export const isInside = (words, place, n) => place >= words.length - (n - 1);
